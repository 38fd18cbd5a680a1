"""The short way of a Produce request that is like the one before it on its connection.

One batch for a partition that nobody has to look into: the batch is checked and appended, and the answer waits for
the flush. Of a transaction these are all batches but the first in each partition: what the coordinator has to write and
to wait for is done then, which it is asked each time. Everything else goes the long way (`handlers.produce`), and so
does a batch that is not as it should be: the long way finds the same and says what it is.
"""

from __future__ import annotations

from time import perf_counter

from penstock.broker.broker import Broker
from penstock.broker.produce.refusal import named_records, refuse
from penstock.broker.produce.transactional import is_unknown_start
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
from penstock.protocol.kafka.produce import encode_response
from penstock.protocol.kafka.repeated_produce import RepeatedProduce
from penstock.storage.interface import Appended

ZSTD_VERSION = 7


class RepeatPath:
    """Kept with a connection until a request of another kind to Produce comes."""

    __slots__ = ("_broker", "_client_id", "_config", "_partition", "_repeated", "_transactional_id", "_wait")

    def __init__(
        self,
        broker: Broker,
        partition: Partition,
        repeated: RepeatedProduce,
        client_id: str | None,
        transactional_id: str | None,
        acks: int,
    ) -> None:
        self._broker = broker
        self._transactional_id = transactional_id
        self._client_id = client_id
        self._partition = partition
        self._config = partition.config
        self._wait = partition.when_stored if acks == 1 else partition.when_visible
        self._repeated = repeated

    def serve(self, frame: memoryview) -> Reply | None:
        """The reply; None if the request has to go the long way."""
        batch = self._repeated.batch_in(frame)
        partition = self._partition
        if batch is None or partition.deleted or partition.config is not self._config:
            return None
        broker = self._broker
        started = perf_counter()
        try:
            header = check_batch(batch)
            if header.attributes & LOG_APPEND_TIME_BIT:
                return None
            if header.attributes & TRANSACTIONAL_BIT and not self._is_settled(header):
                return None
            if header.attributes & CODEC_MASK == ZSTD and self._repeated.version < ZSTD_VERSION:
                return None
        except KafkaError:
            return None
        try:
            appended = partition.append(batch, header, broker.clock.now_ms())
        except KafkaError as error:
            topic, index = self._repeated.topic, partition.index
            named = named_records(error, batch, header, LoopBudget(), RECORD_ERRORS_MAX)
            result = refuse(broker, self._client_id, topic, index, error, partition, named)
            refusal = Reply.now([encode_response([result], self._repeated.version)])
            refusal.header, refusal.api_key = self._repeated.response_header(frame), PRODUCE
            return refusal
        if not appended.duplicate:
            size = len(batch)
            broker.metrics.appended(perf_counter() - started, size)
            broker.metrics.produced(header.record_count, size)
        reply = _AcknowledgedReply(self._repeated, partition, appended)
        reply.header, reply.api_key = self._repeated.response_header(frame), PRODUCE
        self._wait(appended.last_offset, reply.acknowledged)
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

    __slots__ = ("_appended", "_partition", "_repeated")

    gathers = True

    def __init__(self, repeated: RepeatedProduce, partition: Partition, appended: Appended) -> None:
        super().__init__()
        self._repeated = repeated
        self._partition = partition
        self._appended = appended

    def acknowledged(self, code: ErrorCode) -> None:
        if code is ErrorCode.NONE:
            appended = self._appended
            body = self._repeated.response(
                code, appended.base_offset, appended.append_time_ms, self._partition.log_start
            )
        else:
            body = self._repeated.response(code, -1, -1, -1)
        self.complete([body])
