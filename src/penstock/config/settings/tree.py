"""All sections together, and the names of everything in them."""

from __future__ import annotations

from pydantic import model_validator

from penstock.config.settings.clients import ClientSettings, ConsumerSettings, HostedConsumerSettings, ProducerSettings
from penstock.config.settings.doors import HttpSettings, KafkaSettings, NetworkSettings, PushSettings
from penstock.config.settings.groups import GroupSettings, TransactionSettings
from penstock.config.settings.hierarchy import PipeSettings, RegistrySettings
from penstock.config.settings.limits import LimitSettings, TelemetrySettings
from penstock.config.settings.log_output import LoggingSettings
from penstock.config.settings.node import NodeSettings
from penstock.config.settings.storage import StorageSettings, TopicSettings
from penstock.config.settings.values import Section


class Settings(Section):
    """Everything that can be set."""

    node: NodeSettings = NodeSettings()
    kafka: KafkaSettings = KafkaSettings()
    network: NetworkSettings = NetworkSettings()
    http: HttpSettings = HttpSettings()
    push: PushSettings = PushSettings()
    storage: StorageSettings = StorageSettings()
    topics: TopicSettings = TopicSettings()
    groups: GroupSettings = GroupSettings()
    transactions: TransactionSettings = TransactionSettings()
    limits: LimitSettings = LimitSettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    consumers: HostedConsumerSettings = HostedConsumerSettings()
    registry: RegistrySettings = RegistrySettings()
    pipe: PipeSettings = PipeSettings()
    client: ClientSettings = ClientSettings()
    producer: ProducerSettings = ProducerSettings()
    consumer: ConsumerSettings = ConsumerSettings()
    logging: LoggingSettings = LoggingSettings()

    @model_validator(mode="after")
    def _agree(self) -> Settings:
        if self.groups.session_timeout_min_ms > self.groups.session_timeout_max_ms:
            raise ValueError("groups.session_timeout_min_ms is above groups.session_timeout_max_ms")
        if self.storage.reserve_bytes > self.storage.min_free_bytes:
            raise ValueError("storage.reserve_bytes is above storage.min_free_bytes, of which it is a part")
        session_ms, heartbeat_ms = self.consumer.session_timeout_ms, self.consumer.heartbeat_interval_ms
        if session_ms is not None and heartbeat_ms is not None and heartbeat_ms >= session_ms:
            raise ValueError("consumer.heartbeat_interval_ms is not below consumer.session_timeout_ms")
        return self


def keys() -> tuple[str, ...]:
    """Every setting by its dotted name."""
    return tuple(
        f"{section}.{name}"
        for section, branch in Settings.model_fields.items()
        for name in branch.default.__class__.model_fields
    )


MAPPINGS = frozenset({"topics.defaults", "logging.modules"})
"""Settings that hold names of their own; those names are not keys of the tree."""
