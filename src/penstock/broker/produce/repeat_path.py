"""The short way of a Produce request that is like the one before it on its connection.

Only parsing is cut short: the request before was parsed, found its partition and was authorized, and this one has the
same bytes but for its batch. Checking, appending, counting and refusing are the functions of the long way
(`handlers.records.produce`), which takes every request that is not quite the same: another session, other rules of the
authorizer, other configs of the topic, a batch that is not as it should be, records that have to be looked at, the
first batch of a transaction in a partition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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
from penstock.protocol.kafka.repeated_produce import RepeatedProduce
from penstock.security.session import Session
from penstock.storage.interface import Appended

if TYPE_CHECKING:
    from penstock.broker.broker import Broker

ZSTD_VERSION = 7
_NONE = ErrorCode.NONE  # looked up once: members of an enum are slow to find


class RepeatPath:
    """The parsed form of the last Produce request of a channel, until a different one comes."""

    __slots__ = (
        "_allowed_ms", "_authorizer", "_broker", "_config", "_partition", "_repeated", "_rules_version", "_session",
        "_transactional_id", "_wait",
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
        self._partition = partition
        self._config = partition.config
        self._wait = partition.when_stored if body.acks == 1 else partition.when_visible
        self._repeated = repeated

    def serve(self, frame: memoryview) -> Reply | None:
        """The reply; None if the request has to take the full path."""
        batch = self._repeated.batch_in(frame)
        partition = self._partition
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
            if header.attributes & CODEC_MASK == ZSTD and self._repeated.version < ZSTD_VERSION:
                return None
            if broker.producer_rights is not None:
                broker.producer_rights.check(self._session, header)
        except KafkaError:
            return None
        try:
            appended = broker.appender.append(partition, batch, header, broker.clock.now_ms())
        except KafkaError as error:
            topic, index = self._repeated.topic, partition.index
            named = named_records(error, batch, header, LoopBudget(), RECORD_ERRORS_MAX)
            result = refuse(broker, self._session.client_id, topic, index, error, partition, named)
            refusal = Reply.now([encode_response([result], self._repeated.version)])
            refusal.header, refusal.api_key = self._repeated.response_header(frame), PRODUCE
            return refusal
        timeouts = broker.produce_timeouts
        reply = _AcknowledgedReply(self._repeated, partition, appended, timeouts.deadlines_ms)
        reply.header, reply.api_key = self._repeated.response_header(frame), PRODUCE
        self._wait(appended.last_offset, reply.acknowledged)
        if not reply.done:
            timeouts.deadlines_ms[reply] = timeouts.now_ms() + self._allowed_ms
        return reply

    def _is_settled(self, header: BatchHeader) -> bool:
        """Whether the coordinator has nothing to do for this batch of a transaction."""
        name, partition = self._transactional_id, self._partition
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
