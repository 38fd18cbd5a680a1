"""Produce v3-13.

Behaviour:
- Each partition's batch is checked, stamped and appended at once, before the next request is looked at; the answer
  waits for the flush that covers it. Waits of several requests overlap.
- acks=1 and acks=all are the same on one node: acknowledged means on disk. acks=0 gets no answer, and on an error a
  closed connection, which is all such a client can notice.
- A duplicate of an idempotent producer's batch is answered with its first offsets, after its first flush.

Versions:
- v5 adds the log start, v7 allows zstd, v8 adds errors per record, v9 is flexible, v13 names topics by id.
"""

from __future__ import annotations

from time import perf_counter

from penstock.broker.broker import Broker
from penstock.cluster.partition import Partition
from penstock.config.settings import Validation
from penstock.model.batch import ZSTD, BatchHeader, check_batch, read_header
from penstock.model.batch_builder import recompress
from penstock.model.compression import CODEC_NAMES
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.records import InvalidRecords, check_records
from penstock.net.pending import Buffers, Pending
from penstock.protocol.kafka.apis import PRODUCE
from penstock.protocol.kafka.headers import RequestHeader
from penstock.protocol.kafka.produce import (
    PartitionData,
    PartitionResult,
    ProduceRequest,
    RecordError,
    decode,
    encode_response,
)

ZSTD_VERSION = 7


def handle(broker: Broker, header: RequestHeader, frame: memoryview, position: int) -> Buffers | Pending | None:
    request = decode(frame, position, header.version)
    if request.acks not in (-1, 0, 1):
        return [encode_response(_refuse_all(request, ErrorCode.INVALID_REQUIRED_ACKS), header.version)]
    answer = _Produce(broker, header.version)
    now_ms = broker.clock.now_ms()
    for data in request.partitions:
        answer.append(data, request.transactional_id, now_ms)
    if request.acks == 0:
        return answer.unanswered()
    return answer.when_flushed()


class _Produce:
    """One request between append and answer."""

    __slots__ = ("_broker", "_pending", "_results", "_version", "_waiting", "_written")

    def __init__(self, broker: Broker, version: int) -> None:
        self._broker = broker
        self._version = version
        self._results: list[PartitionResult] = []
        self._written: list[tuple[int, Partition, int]] = []  # index of the result, partition, last offset
        self._waiting = 0
        self._pending: Pending | None = None

    def append(self, data: PartitionData, transactional_id: str | None, now_ms: int) -> None:
        try:
            partition = self._broker.partitions.find(data.topic, data.partition)
            batch, header = self._check(partition, data.records, transactional_id)
            started = perf_counter()
            appended = partition.append(batch, header, now_ms)
        except InvalidRecords as error:
            self._fail(data, error.code, tuple(RecordError(*bad) for bad in error.bad), error.message)
        except KafkaError as error:
            self._fail(data, error.code, (), error.message)
        else:
            self._written.append((len(self._results), partition, appended.last_offset))
            self._results.append(
                PartitionResult(
                    data.topic, data.partition, 0, appended.base_offset, appended.append_time_ms, partition.log_start
                )
            )
            if not appended.duplicate:
                self._broker.metrics.appended(perf_counter() - started, len(batch))
                self._broker.metrics.produced(header.record_count, len(batch))

    def _check(
        self, partition: Partition, records: memoryview | None, transactional_id: str | None
    ) -> tuple[bytearray | memoryview, BatchHeader]:
        if records is None or not len(records):
            raise KafkaError(ErrorCode.INVALID_RECORD, "exactly one record batch per partition is allowed")
        if partition.internal:
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, "clients may not write to internal topics")
        header = check_batch(records)
        if header.codec == ZSTD and self._version < ZSTD_VERSION:
            raise KafkaError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, "zstd needs Produce v7")
        if header.is_transactional:
            # Until transactions exist nobody can have begun one.
            code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
            raise KafkaError(code if transactional_id is None else ErrorCode.INVALID_TXN_STATE)
        config = partition.log.config
        if config.cleanup_compact or self._broker.settings.topics.validation is Validation.RECORDS:
            limit = self._broker.settings.limits.decompressed_bytes_max
            check_records(records, header, compacted=config.cleanup_compact, limit=limit)
        if config.compression_type != "producer":
            return self._recompressed(records, header, config.compression_type)
        return records, header

    def _recompressed(
        self, records: memoryview, header: BatchHeader, compression_type: str
    ) -> tuple[bytearray | memoryview, BatchHeader]:
        codec = 0 if compression_type == "uncompressed" else CODEC_NAMES.index(compression_type)
        if codec == header.codec:
            return records, header
        batch = recompress(records, header, codec, limit=self._broker.settings.limits.decompressed_bytes_max)
        return batch, read_header(batch)

    def _fail(self, data: PartitionData, code: ErrorCode, errors: tuple[RecordError, ...], message: str | None) -> None:
        self._results.append(PartitionResult(data.topic, data.partition, code, -1, -1, -1, errors, message))
        self._broker.metrics.requests.failed(PRODUCE, code.name)

    def unanswered(self) -> Pending | None:
        """acks=0: silence, or a closed connection if anything went wrong."""
        if all(result.error == 0 for result in self._results):
            return None
        closing = Pending()
        closing.complete(None)
        return closing

    def when_flushed(self) -> Buffers | Pending:
        for _, partition, last_offset in self._written:
            if not partition.when_flushed(last_offset, self._flushed):
                self._waiting += 1
        if not self._waiting:
            return self._body()
        self._pending = Pending()
        return self._pending

    def _flushed(self) -> None:
        self._waiting -= 1
        if not self._waiting:
            assert self._pending is not None
            self._pending.complete(self._body())

    def _body(self) -> Buffers:
        for index, partition, last_offset in self._written:
            if partition.high_watermark <= last_offset:  # woken by a failure, not by the flush
                result = self._results[index]
                self._results[index] = PartitionResult(result.topic, result.partition, partition.failure, -1, -1, -1)
        return [encode_response(self._results, self._version)]


def _refuse_all(request: ProduceRequest, code: ErrorCode) -> list[PartitionResult]:
    return [PartitionResult(data.topic, data.partition, code, -1, -1, -1) for data in request.partitions]
