"""Client telemetry of one node: subscriptions, instances and series behind the two APIs.

Everything here happens on the event loop and takes microseconds; a push is decoded in the record worker. `instances`
decides when a client may push, `subscriptions` which metrics, and `series` keeps them.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator

from penstock.broker.channel import KafkaChannel
from penstock.broker.records.worker import RecordWorker
from penstock.broker.telemetry.instances import ClientInstance, ClientInstances
from penstock.broker.telemetry.otlp import decode_push
from penstock.broker.telemetry.series import SeriesStore
from penstock.broker.telemetry.subscriptions import Client, MetricsSubscription, assign, instance_text, to_subscription
from penstock.cluster.controller.configs_frontend import CLIENT_METRICS, ConfigsFrontend
from penstock.config.settings import AdvertiseTelemetry, TelemetrySettings
from penstock.model.compression import CODEC_NAMES
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.limits import TELEMETRY_TEXT_LENGTH_MAX, TELEMETRY_UNPACKED_FACTOR
from penstock.observability.exposition import ClientSample
from penstock.runtime.clock import Clock
from penstock.security.session import Session

SWEEP_INTERVAL_MS = 10_000


class ClientTelemetry:
    """The one owner of its parts. The handlers of GetTelemetrySubscriptions and PushTelemetry call it."""

    def __init__(
        self, *, configs: ConfigsFrontend, worker: RecordWorker, settings: TelemetrySettings, clock: Clock
    ) -> None:
        self._configs = configs
        self._worker = worker
        self._settings = settings
        self._clock = clock
        self._subscriptions: list[MetricsSubscription] = []
        self._version = -1
        self._instances = ClientInstances(settings.clients_max, self._gone)
        self.series = SeriesStore(
            count_max=settings.series_max, per_client_max=settings.series_per_client_max, linger_ms=settings.linger_ms
        )

    @property
    def is_advertised(self) -> bool:
        """Whether ApiVersions lists the two APIs.

        A client that sees them asks for subscriptions at its start, and librdkafka prints a line about the answer. As
        on a Kafka broker without a receiver of telemetry, they are left out while there are no subscriptions.
        """
        if self._settings.advertise is AdvertiseTelemetry.ALWAYS:
            return True
        self._refresh()
        return bool(self._subscriptions)

    @property
    def client_count(self) -> int:
        return len(self._instances)

    def samples(self) -> Iterator[ClientSample]:
        """The series on the metrics page now."""
        self.series.expire(self._clock.monotonic_ms())
        return self.series.samples()

    async def sweep(self) -> None:
        """Forget clients that have been silent for long, and the series of those that have left."""
        now_ms = self._clock.monotonic_ms()
        self._instances.expire(now_ms)
        self.series.expire(now_ms)

    def subscribe(self, instance_id: uuid.UUID | None, channel: KafkaChannel) -> ClientInstance:
        """The assignment of a client; without an id it gets one. Raises THROTTLING_QUOTA_EXCEEDED."""
        instance = self._instance(instance_id or uuid.uuid4(), channel)
        instance.accept_get(self._clock.monotonic_ms())
        return instance

    async def push(
        self,
        instance_id: uuid.UUID,
        channel: KafkaChannel,
        *,
        subscription_id: int,
        terminating: bool,
        codec: int,
        payload: bytes,
    ) -> None:
        """Take a client's push. Raises KafkaError with the code for its answer."""
        instance = self._instance(instance_id, channel)
        try:
            self._check_push(instance, subscription_id, terminating, codec, payload)
            if payload:
                await self._store(instance, codec, payload, channel.session.user)
        except KafkaError as error:
            instance.last_error = error.code
            raise
        instance.last_error = ErrorCode.NONE
        if terminating:
            self._gone(instance)

    def _check_push(
        self, instance: ClientInstance, subscription_id: int, terminating: bool, codec: int, payload: bytes
    ) -> None:
        try:
            instance.accept_push(self._clock.monotonic_ms(), terminating=terminating)
        finally:
            instance.terminating = terminating
        if subscription_id != instance.assignment.subscription_id:
            raise KafkaError(ErrorCode.UNKNOWN_SUBSCRIPTION_ID)
        if not 0 <= codec < len(CODEC_NAMES):
            raise KafkaError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
        if len(payload) > self._settings.bytes_max:
            raise KafkaError(ErrorCode.TELEMETRY_TOO_LARGE)

    async def _store(self, instance: ClientInstance, codec: int, payload: bytes, owner: str) -> None:
        unpacked_max = self._settings.bytes_max * TELEMETRY_UNPACKED_FACTOR
        try:
            push = await self._worker.run(
                len(payload),
                decode_push,
                codec,
                memoryview(payload),
                unpacked_max,
                self._settings.series_per_client_max,
                owner=owner,
            )
        except KafkaError as error:
            if error.code is ErrorCode.REQUEST_TIMED_OUT:  # no worker now: the client's next push may find one
                raise KafkaError(ErrorCode.THROTTLING_QUOTA_EXCEEDED, str(error)) from error
            raise
        current = self._instances.get(instance.instance_id)
        if current is not None and current.assignment != instance.assignment:
            return  # the subscriptions have changed meanwhile: these metrics are not wanted any more
        self.series.add(instance.instance_id, instance.client, push)
        if current is None:  # it has left meanwhile
            self._gone(instance)

    def _instance(self, instance_id: uuid.UUID, channel: KafkaChannel) -> ClientInstance:
        """The client's instance under the current subscriptions."""
        self._refresh()
        instance = self._instances.get(instance_id)
        if instance is None or instance.version < self._version:
            client = _client(instance_id, channel.session) if instance is None else instance.client
            assignment = assign(self._subscriptions, client, instance_id)
            if instance is not None and assignment != instance.assignment:
                self.series.drop(instance_id)
            instance = ClientInstance(
                instance_id, client, assignment, version=self._version, connection_id=channel.connection_id
            )
            self._instances.put(instance)
            channel.when_closed(self._instances.disconnected)
        self._instances.seen(instance, self._clock.monotonic_ms())
        return instance

    def _refresh(self) -> None:
        version = self._configs.changes.get(CLIENT_METRICS, 0)
        if version != self._version:
            self._version = version
            names = self._configs.configured(CLIENT_METRICS)
            self._subscriptions = [to_subscription(self._configs.explicit(CLIENT_METRICS, name)) for name in names]

    def _gone(self, instance: ClientInstance) -> None:
        self.series.gone(instance.instance_id, self._clock.monotonic_ms())


def _client(instance_id: uuid.UUID, session: Session) -> Client:
    return Client(
        client_instance_id=instance_text(instance_id),
        client_id=None if session.client_id is None else session.client_id[:TELEMETRY_TEXT_LENGTH_MAX],
        client_software_name=session.software_name[:TELEMETRY_TEXT_LENGTH_MAX],
        client_software_version=session.software_version[:TELEMETRY_TEXT_LENGTH_MAX],
        client_source_address=session.host,
        client_source_port=str(session.port),
    )
