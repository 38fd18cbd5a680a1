"""The short way of a Produce request that is like one before it on its connection.

Only parsing is cut short: the request before was parsed, found its partition and was authorized, and this one has the
same bytes but for its batch. A producer that writes to several partitions in turn has a short way for each. Checking,
appending, counting and refusing are the functions of the long way (`handlers.records.produce`, `part`), which takes
every request that is not quite the same: another session, other rules of the authorizer, other configs of the topic, a
batch that is not as it should be, records that have to be looked at, the first batch of a transaction in a partition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from penstock.broker.produce.refusal import named_records, refuse
from penstock.broker.produce.timeouts import LEAST_MS, Waiting
from penstock.broker.produce.transactional import has_transactional_batch, is_unknown_start
from penstock.broker.records.checks import LoopBudget
from penstock.broker.transactions.transaction import ProducerIdentity
from penstock.cluster.partition import Partition
from penstock.model.batch import (
    CODEC_MASK,
    LOG_APPEND_TIME_BIT,
    TRANSACTIONAL_BIT,
    ZSTD,
    BatchHeader,
    check_batch,
)
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.limits import RECORD_ERRORS_MAX
from penstock.model.topic_partition import TopicPartition
from penstock.net.reply import Reply
from penstock.protocol.kafka.apis import PRODUCE
from penstock.protocol.kafka.produce import ProduceRequest, encode_response
from penstock.protocol.kafka.repeated_produce import AFTER_CORRELATION_ID, RepeatedProduce
from penstock.security.session import Session
from penstock.storage.interface import Appended

if TYPE_CHECKING:
    from penstock.broker.broker import Broker

ZSTD_VERSION = 7
PATHS_MAX: Final = 16
"""Of a connection: about 1 KB each. One that writes to more partitions in turn takes the long way."""
BEGINNING_BYTES_MAX: Final = 512
"""Longer beginnings, with ids of up to 32 KB, are not kept."""
UNHELPED_MAX: Final = 1_000
"""Requests for which there was no room: after so many, all paths are given up, since others may be in use by now."""
_NONE = ErrorCode.NONE  # looked up once: members of an enum are slow to find


class RepeatPaths:
    """The short ways of one channel, by the bytes with which their requests begin."""

    __slots__ = ("_ends", "_lately", "_paths", "_unhelped")

    def __init__(self) -> None:
        self._paths: dict[bytes, RepeatPath] = {}
        self._ends: tuple[int, ...] = ()  # where those bytes end: one place, unless topics have names of other lengths
        self._lately: dict[Partition, None] = {}  # written the long way
        self._unhelped = 0

    def __len__(self) -> int:
        return len(self._paths)

    def serve(self, frame: memoryview) -> Reply | None:
        """The reply; None if the request has to take the full path."""
        for end in self._ends:
            path = self._paths.get(bytes(frame[AFTER_CORRELATION_ID:end]))
            if path is not None:
                reply = path.serve(frame)
                if reply is None:
                    self._forget(path)
                return reply
        return None

    def _forget(self, path: RepeatPath) -> None:
        """Something has changed. The path is made again if two further requests of the long way are alike."""
        del self._paths[path.repeated.same]
        self._ends = tuple({path.repeated.end for path in self._paths.values()})
        self._lately.pop(path.partition, None)

    def wants(self, partition: Partition) -> bool:
        """Whether there should be a path, after a request of the long way: the second one is taken for one of many."""
        if partition not in self._lately:
            if len(self._lately) == PATHS_MAX:
                self._lately.clear()
            self._lately[partition] = None
            return False
        if len(self._paths) < PATHS_MAX:
            return True
        self._unhelped += 1
        if self._unhelped == UNHELPED_MAX:
            self._unhelped = 0
            self._paths, self._ends = {}, ()
        return False

    def add(self, path: RepeatPath) -> None:
        repeated = path.repeated
        if repeated.end <= BEGINNING_BYTES_MAX:
            self._paths[repeated.same] = path
            if repeated.end not in self._ends:
                self._ends += (repeated.end,)


class RepeatPath:
    """The parsed form of a Produce request with one batch."""

    __slots__ = (
        "_allowed_ms", "_authorizer", "_broker", "_config", "_rules_version", "_session", "_transactional_id", "_wait",
        "partition", "repeated",
    )  # fmt: skip

    def __init__(
        self,
        broker: Broker,
        partition: Partition,
        repeated: RepeatedProduce,
        session: Session,
        body: ProduceRequest,
    ) -> None:
        self._broker = broker
        # Only for a batch of a transaction was the right to the name asked: after a plain one, it is still to be asked.
        is_transactional = has_transactional_batch(data.records for data in body.partitions)
        self._transactional_id = body.transactional_id if is_transactional else None
        self._allowed_ms = body.timeout_ms if body.timeout_ms > LEAST_MS else LEAST_MS
        self._session = session
        self._authorizer = broker.access.authorizer
        self._rules_version = self._authorizer.version
        self.partition = partition
        self._config = partition.config
        self._wait = partition.when_stored if body.acks == 1 else partition.when_visible
        self.repeated = repeated

    def serve(self, frame: memoryview) -> Reply | None:
        """The reply to a request that begins like the first one; None if it has to take the full path."""
        batch = self.repeated.batch_behind(frame)
        partition = self.partition
        broker = self._broker
        if batch is None or partition.deleted or partition.config is not self._config:
            return None
        if self._authorizer.version != self._rules_version:  # the right to write may be gone
            return None
        try:
            header = check_batch(batch)
            if header.attributes & LOG_APPEND_TIME_BIT:
                return None
            if header.attributes & TRANSACTIONAL_BIT and not self._is_settled(header):
                return None
            if header.attributes & CODEC_MASK == ZSTD and self.repeated.version < ZSTD_VERSION:
                return None
            if header.producer_id >= 0 and broker.producer_rights is not None:
                broker.producer_rights.check(self._session, header)
        except KafkaError:
            return None
        try:
            appended = broker.appender.append(partition, batch, header, broker.clock.now_ms())
        except KafkaError as error:
            topic, index = self.repeated.topic, partition.index
            named = named_records(error, batch, header, LoopBudget(), RECORD_ERRORS_MAX)
            result = refuse(broker, self._session.client_id, topic, index, error, partition, named)
            refusal = Reply.now([encode_response([result], self.repeated.version)])
            refusal.header, refusal.api_key = self.repeated.response_header(frame), PRODUCE
            return refusal
        timeouts = broker.produce_timeouts
        reply = _AcknowledgedReply(self.repeated, partition, appended, timeouts.deadlines_ms)
        reply.header, reply.api_key = self.repeated.response_header(frame), PRODUCE
        self._wait(appended.last_offset, reply.acknowledged)
        if not reply.done:
            timeouts.deadlines_ms[reply] = timeouts.now_ms() + self._allowed_ms
        return reply

    def _is_settled(self, header: BatchHeader) -> bool:
        """Whether the coordinator has nothing to do for this batch of a transaction."""
        name, partition = self._transactional_id, self.partition
        if name is None or is_unknown_start(partition, header):
            return False
        sender = ProducerIdentity(header.producer_id, header.producer_epoch)
        return self._broker.transactions.has_settled(name, sender, TopicPartition(partition.topic, partition.index))


class _AcknowledgedReply(Reply):
    """Completed when the batch is stored or visible, as its producer wants it."""

    __slots__ = ("_appended", "_deadlines_ms", "_partition", "_repeated")

    gathers = True

    def __init__(
        self, repeated: RepeatedProduce, partition: Partition, appended: Appended, deadlines_ms: dict[Waiting, int]
    ) -> None:
        Reply.__init__(self)  # quicker than `super`
        self._deadlines_ms = deadlines_ms
        self._repeated = repeated
        self._partition = partition
        self._appended = appended

    def acknowledged(self, code: ErrorCode) -> None:
        self._deadlines_ms.pop(self, None)
        if code is _NONE:
            appended = self._appended
            body = self._repeated.response(
                code, appended.base_offset, appended.append_time_ms, self._partition.log_start
            )
        else:
            body = self._repeated.response(code, -1, -1, -1)
        self.complete([body])

    def time_out(self) -> None:
        self._partition.stop_waiting(self._appended.last_offset, self.acknowledged)
        self.complete([self._repeated.response(ErrorCode.REQUEST_TIMED_OUT, -1, -1, -1)])
