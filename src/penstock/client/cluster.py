"""All brokers of a cluster as one: partition leaders, coordinators, and a connection to each broker.

Leaders and coordinators are remembered until a request fails; `patiently` forgets them and tries again.
A broker that cannot be reached is not asked for a while (`client.breaker`), as long as there is another one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Self, TypeVar

from penstock.client.address import Address
from penstock.client.answer_error import check
from penstock.client.breaker import Breaker
from penstock.client.connection import BrokerUnavailable, Connection
from penstock.client.patience import USUAL, Patience
from penstock.client.retries import persist
from penstock.client.security.properties import PLAINTEXT, ClientSecurity, SecurityProblem
from penstock.client.security.tls import client_context
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.topic_partition import TopicPartition
from penstock.protocol.kafka.apis import API_VERSIONS, APIS, FIND_COORDINATOR, METADATA

if TYPE_CHECKING:
    import ssl

    from penstock.protocol.kafka.replies.metadata import MetadataResponsePartition
    from penstock.protocol.kafka.requests.metadata import MetadataRequestTopicValues

Value = TypeVar("Value")

METADATA_VERSION = 12
FIND_COORDINATOR_VERSION = 3
GROUP, TRANSACTION = 0, 1


class TopicInfo(NamedTuple):
    name: str
    partition_count: int
    is_internal: bool
    topic_id: str
    """A topic that was deleted and created again has another one."""


class Cluster:
    """A client's view of a cluster. Not thread-safe but for `close`."""

    def __init__(
        self,
        bootstrap: Sequence[Address],
        *,
        client_id: str = "penstock",
        timeout_s: float = 60.0,
        request_timeout_s: float = 30.0,
        security: ClientSecurity = PLAINTEXT,
        patience: Patience = USUAL,
    ) -> None:
        self._bootstrap = tuple(bootstrap)
        self._security = security
        self._context: ssl.SSLContext | None = None
        self._client_id = client_id
        self.timeout_s = timeout_s
        self._request_timeout_s = min(request_timeout_s, timeout_s)
        self._connections: dict[Address, Connection] = {}
        self._patience = patience
        self._breaker = Breaker(patience)
        self._nodes: dict[int, Address] = {}
        self._leaders: dict[TopicPartition, int] = {}
        self._leader_epochs: dict[TopicPartition, int] = {}
        self._coordinators: dict[tuple[int, str], Address] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections. A call that waits on one of them, in another thread, gets an error."""
        connections = list(self._connections.values())  # in one step: that thread may be opening one
        self._connections.clear()
        for connection in connections:
            connection.close()

    def is_idle(self) -> bool:
        """Whether there are connections, all of which are open, and nobody waits for an answer on them."""
        return bool(self._connections) and all(each.is_idle() for each in self._connections.values())

    def patiently(self, attempt: Callable[[], Value]) -> Value:
        """Try an operation until the timeout: it may fail because brokers come and go."""
        return persist(attempt, timeout_s=self.timeout_s, before_next=self.forget, patience=self._patience)

    def forget(self) -> None:
        """Forget everything that may be outdated, including connections, and certificates that were read from files."""
        self.close()
        self._context = None
        self._leaders.clear()
        self._leader_epochs.clear()
        self._coordinators.clear()

    # --- connections -------------------------------------------------------------------------------------------------

    def connection(self, address: Address) -> Connection:
        """The connection to a broker. BrokerUnavailable if it cannot be reached or lacks a version that we use."""
        connection = self._connections.get(address)
        if connection is not None:
            return connection
        pause = self._breaker.pause_left(address, time.monotonic())
        if pause and len(self._addresses()) > 1:
            raise BrokerUnavailable(f"{address} has not answered several times; asked again in {pause:.1f} s")
        return self._connect(address)

    def any_connection(self) -> Connection:
        """A connection to any broker; those that failed lately are tried last."""
        failures = []
        now = time.monotonic()
        for address in sorted(self._addresses(), key=lambda one: self._breaker.pause_left(one, now)):
            try:
                return self._connections.get(address) or self._connect(address)
            except BrokerUnavailable as error:
                failures.append(str(error))
        raise BrokerUnavailable("; ".join(failures))

    def all_connections(self) -> list[Connection]:
        """A connection to each broker that is known, for what one broker cannot answer for all."""
        return [self.connection(address) for address in dict.fromkeys(self._nodes.values())]

    def _addresses(self) -> list[Address]:
        return list(dict.fromkeys((*self._connections, *self._nodes.values(), *self._bootstrap)))

    def _connect(self, address: Address) -> Connection:
        try:
            connection = Connection(
                address,
                client_id=self._client_id,
                timeout_s=self._request_timeout_s,
                security=self._security,
                context=self._tls_context(),
            )
        except BrokerUnavailable:
            self._breaker.failed(address, time.monotonic())
            raise
        self._breaker.succeeded(address)
        self._connections[address] = connection
        return connection

    def _tls_context(self) -> ssl.SSLContext | None:
        """The TLS of all connections: to load the authorities of a system takes longer than a handshake."""
        if self._context is None and self._security.has_tls:
            try:
                self._context = client_context(self._security)
            except SecurityProblem as problem:
                raise KafkaError(ErrorCode.SASL_AUTHENTICATION_FAILED, str(problem)) from problem
        return self._context

    def leader(self, place: TopicPartition) -> Connection:
        if place not in self._leaders:
            self.topics([place.topic])
        if place not in self._leaders:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {place}")
        return self.connection(self._nodes[self._leaders[place]])

    def leader_epoch(self, place: TopicPartition) -> int | None:
        """As `topics` learned it last; None if it did not."""
        return self._leader_epochs.get(place)

    def coordinator(self, kind: int, key: str) -> Connection:
        """The connection to the coordinator of a group or of a transactional id."""
        address = self._coordinators.get((kind, key))
        if address is None:
            found = self.any_connection().call(FIND_COORDINATOR, FIND_COORDINATOR_VERSION, key=key, key_type=kind)
            check(found.error_code, found.error_message)
            address = self._coordinators[kind, key] = Address(found.host, found.port)
        return self.connection(address)

    def check_versions(self, wanted: Mapping[int, int]) -> None:
        """Check that the broker has every version of an API that we use.

        KafkaError UNSUPPORTED_VERSION names those missing.
        """
        answer = self.any_connection().call(API_VERSIONS, 0)
        check(answer.error_code)
        known = {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys}
        for key, version in wanted.items():
            oldest, newest = known.get(key, (0, -1))
            if not oldest <= version <= newest:
                text = f"the broker does not speak {APIS[key].name} v{version}: Kafka 4.0 or newer is needed"
                raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, text)

    # --- topics ------------------------------------------------------------------------------------------------------

    def topics(self, names: Iterable[str] | None = None, *, create: bool = False) -> dict[str, TopicInfo]:
        """The existing topics of the given names, or all. Also learns the leaders of their partitions.

        With `create`, a broker that creates topics automatically creates the missing ones.
        """
        wanted: list[MetadataRequestTopicValues] | None = None if names is None else [{"name": name} for name in names]
        answer = self.any_connection().call(METADATA, METADATA_VERSION, topics=wanted, allow_auto_topic_creation=create)
        self._nodes = {each.node_id: Address(each.host, each.port) for each in answer.brokers}
        found = {}
        for topic in answer.topics:
            if topic.name is None or ErrorCode(topic.error_code) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                continue  # only a topic that was requested by its id can be without a name
            check(topic.error_code, f"topic {topic.name}")
            self._learn_leaders(topic.name, topic.partitions)
            found[topic.name] = TopicInfo(topic.name, len(topic.partitions), topic.is_internal, str(topic.topic_id))
        return found

    def _learn_leaders(self, topic: str, partitions: Iterable[MetadataResponsePartition]) -> None:
        for partition in partitions:
            place = TopicPartition(topic, partition.partition_index)
            if partition.leader_id in self._nodes:
                self._leaders[place] = partition.leader_id
                self._leader_epochs[place] = partition.leader_epoch
            else:
                raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, f"{place} has no leader")
