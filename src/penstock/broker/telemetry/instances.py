"""The clients that have requested a subscription: the answer to each, and the time of its next request. No I/O.

A cache of bounded size, as in Kafka: the client that was silent longest makes room, and the first of a connection that
has too many, so that none takes the room of all others. A client that was forgotten is
known again by its next request, with the same subscription id. An instance goes with its connection, or when it has
been silent for three intervals, at least a minute.
"""

from __future__ import annotations

import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterator

from penstock.broker.telemetry.subscriptions import Assignment, Client
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.limits import TELEMETRY_CLIENTS_PER_CONNECTION_MAX

EXPIRY_MS_MIN = 60_000
_LONG_AGO = -(1 << 62)
# After these errors a client has to request its subscription again at once.
_ASKS_AGAIN = (ErrorCode.UNKNOWN_SUBSCRIPTION_ID, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)


class ClientInstance:
    """One client under one assignment. `connection_id` is the connection that it was first seen on."""

    __slots__ = (
        "_last_get_ms",
        "_last_push_ms",
        "assignment",
        "client",
        "connection_id",
        "instance_id",
        "last_error",
        "last_seen_ms",
        "terminating",
        "version",
    )

    def __init__(
        self, instance_id: uuid.UUID, client: Client, assignment: Assignment, *, version: int, connection_id: int
    ) -> None:
        self.instance_id = instance_id
        self.client = client
        self.assignment = assignment
        self.version = version
        self.connection_id = connection_id
        self.terminating = False
        self.last_error = ErrorCode.NONE
        self.last_seen_ms = _LONG_AGO
        self._last_get_ms = self._last_push_ms = _LONG_AGO

    def accept_get(self, now_ms: int) -> None:
        """Raises THROTTLING_QUOTA_EXCEEDED if the client comes too early without a reason."""
        last_ms = max(self._last_get_ms, self._last_push_ms)
        if now_ms - last_ms >= self.assignment.interval_ms:
            self._last_get_ms = now_ms
        elif self.last_error not in _ASKS_AGAIN:
            raise KafkaError(ErrorCode.THROTTLING_QUOTA_EXCEEDED)
        self.last_error = ErrorCode.NONE

    def accept_push(self, now_ms: int, *, terminating: bool) -> None:
        """Raises INVALID_REQUEST after a last push, THROTTLING_QUOTA_EXCEEDED if it is too early for another.

        The first push after a get may come at any time: clients spread it over half to one and a half intervals.
        """
        if self.terminating:
            raise KafkaError(ErrorCode.INVALID_REQUEST)
        early = self._last_get_ms <= self._last_push_ms
        if early and now_ms - self._last_push_ms < self.assignment.interval_ms:
            if not terminating:
                raise KafkaError(ErrorCode.THROTTLING_QUOTA_EXCEEDED)
        else:
            self._last_push_ms = now_ms

    def expired(self, now_ms: int) -> bool:
        return now_ms - self.last_seen_ms > max(EXPIRY_MS_MIN, 3 * self.assignment.interval_ms)


class ClientInstances:
    """The cache. `on_gone` is called for every instance that leaves it."""

    def __init__(self, count_max: int, on_gone: Callable[[ClientInstance], None]) -> None:
        self._count_max = count_max
        self._on_gone = on_gone
        self._instances: OrderedDict[uuid.UUID, ClientInstance] = OrderedDict()  # the longest silent first
        self._by_connection: dict[int, dict[uuid.UUID, None]] = {}  # the first one first

    def __len__(self) -> int:
        return len(self._instances)

    def __iter__(self) -> Iterator[ClientInstance]:
        return iter(tuple(self._instances.values()))

    def get(self, instance_id: uuid.UUID) -> ClientInstance | None:
        return self._instances.get(instance_id)

    def put(self, instance: ClientInstance) -> None:
        """A new instance, or one that takes the place of an earlier one of the same client."""
        earlier = self._instances.pop(instance.instance_id, None)
        if earlier is not None:
            self._leave_connection(earlier)
        self._instances[instance.instance_id] = instance
        own = self._by_connection.setdefault(instance.connection_id, {})
        own[instance.instance_id] = None
        if len(own) > TELEMETRY_CLIENTS_PER_CONNECTION_MAX:
            self.remove(self._instances[next(iter(own))])
        while len(self._instances) > self._count_max:
            self.remove(next(iter(self._instances.values())))

    def seen(self, instance: ClientInstance, now_ms: int) -> None:
        instance.last_seen_ms = now_ms
        self._instances.move_to_end(instance.instance_id)

    def remove(self, instance: ClientInstance) -> None:
        del self._instances[instance.instance_id]
        self._leave_connection(instance)
        self._on_gone(instance)

    def disconnected(self, connection_id: int) -> None:
        for instance_id in self._by_connection.pop(connection_id, ()):
            self._on_gone(self._instances.pop(instance_id))

    def expire(self, now_ms: int) -> None:
        for instance in self:
            if instance.expired(now_ms):
                self.remove(instance)

    def _leave_connection(self, instance: ClientInstance) -> None:
        ids = self._by_connection.get(instance.connection_id)
        if ids is not None:
            ids.pop(instance.instance_id, None)
            if not ids:
                del self._by_connection[instance.connection_id]
