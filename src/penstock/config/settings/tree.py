"""All sections together, and the names of everything in them."""

from __future__ import annotations

from pydantic import model_validator

from penstock.config.settings.acl import AclSettings
from penstock.config.settings.clients import ClientSettings, ConsumerSettings, HostedConsumerSettings, ProducerSettings
from penstock.config.settings.doors import HttpSettings, KafkaSettings, NetworkSettings, PushSettings
from penstock.config.settings.groups import GroupSettings, TransactionSettings
from penstock.config.settings.hierarchy import PipeSettings, RegistrySettings
from penstock.config.settings.limits import LimitSettings, TelemetrySettings
from penstock.config.settings.log_output import LoggingSettings
from penstock.config.settings.node import NodeSettings
from penstock.config.settings.sasl import SaslSettings
from penstock.config.settings.security import ListenerSettings, SecuritySettings
from penstock.config.settings.storage import MEMORY, StorageSettings, TopicSettings
from penstock.config.settings.tls import TlsSettings
from penstock.config.settings.values import Section


class Settings(Section):
    """Everything that can be set."""

    node: NodeSettings = NodeSettings()
    kafka: KafkaSettings = KafkaSettings()
    network: NetworkSettings = NetworkSettings()
    http: HttpSettings = HttpSettings()
    push: PushSettings = PushSettings()
    sasl: SaslSettings = SaslSettings()
    security: SecuritySettings = SecuritySettings()
    listeners: ListenerSettings = ListenerSettings()
    tls: TlsSettings = TlsSettings()
    storage: StorageSettings = StorageSettings()
    topics: TopicSettings = TopicSettings()
    groups: GroupSettings = GroupSettings()
    transactions: TransactionSettings = TransactionSettings()
    limits: LimitSettings = LimitSettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    acl: AclSettings = AclSettings()
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
        if self.acl.policy_file is not None and not self.acl.enabled:
            raise ValueError("acl.policy_file has no effect while acl.enabled is false; set acl.enabled: true")
        session_ms, heartbeat_ms = self.consumer.session_timeout_ms, self.consumer.heartbeat_interval_ms
        if session_ms is not None and heartbeat_ms is not None and heartbeat_ms >= session_ms:
            raise ValueError("consumer.heartbeat_interval_ms is not below consumer.session_timeout_ms")
        self._keep_test_data_apart()
        return self

    def _keep_test_data_apart(self) -> None:
        """Refuse a directory for tests from which the node's own files could be read, links resolved."""
        if self.http.test_data_dir is None or self.storage.engine == MEMORY:
            return
        test, data = self.http.test_data_dir.resolve(), self.node.data_dir.resolve()
        if test.is_relative_to(data) or data.is_relative_to(test):
            raise ValueError(
                "http.test_data_dir and node.data_dir must not be in one another, because clients may read files of the"
                " first; copy the files for tests into a directory of their own"
            )


def keys() -> tuple[str, ...]:
    """Every setting by its dotted name."""
    return tuple(
        f"{section}.{name}"
        for section, branch in Settings.model_fields.items()
        for name in branch.default.__class__.model_fields
    )


MAPPINGS = frozenset({"topics.defaults", "logging.modules", "listeners.overrides", "pipe.client_properties"})
"""Settings that hold names of their own; those names are not keys of the tree."""
