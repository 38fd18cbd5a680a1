"""Single messages on their way into a partition, gathered into batches.

What comes in one turn of the event loop is one batch: one append and one sync for all of it, and what comes during the
sync is the next one. A message costs two or three microseconds that way, where a batch of its own would cost forty.
Doors whose clients send message by message use it; Kafka's clients gather for themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from penstock.cluster.partition import Partition
from penstock.model.batch import HEADER_BYTES, read_header
from penstock.model.batch_builder import NewRecord, build_batch, record_size
from penstock.model.errors import ErrorCode, KafkaError
from penstock.runtime.clock import Clock

Done = Callable[[int, KafkaError | None], None]
"""Called once with the message's offset when it is on disk, or with -1 and why it is not stored."""

_RECORD_OVERHEAD_BYTES: Final = 24  # what a record's numbers may take besides what `record_size` counts
BATCH_BYTES_MAX: Final = 1 << 20


class Gatherer:
    """Of one partition. Everything happens on the event loop, whose `call_soon` ends a turn's batch."""

    def __init__(self, partition: Partition, clock: Clock, call_soon: Callable[[Callable[[], None]], object]) -> None:
        self._partition = partition
        self._clock = clock
        self._call_soon = call_soon
        self._records: list[NewRecord] = []
        self._done: list[Done] = []
        self._bytes = 0

    def add(self, record: NewRecord, done: Done) -> None:
        """`done` is called before this returns if the message cannot be stored whatever happens."""
        config = self._partition.config
        if record.key is None and config.cleanup_compact:
            done(-1, KafkaError(ErrorCode.INVALID_RECORD, "Compacted topic cannot accept message without key."))
            return
        limit = min(config.max_message_bytes, BATCH_BYTES_MAX) - HEADER_BYTES
        size = record_size(record) + _RECORD_OVERHEAD_BYTES
        if self._records and self._bytes + size > limit:
            self._append()
        if not self._records:
            self._call_soon(self._append)
        self._bytes += size
        self._records.append(record)
        self._done.append(done)

    def _append(self) -> None:
        records, done = self._records, self._done
        if not records:
            return
        self._records, self._done, self._bytes = [], [], 0
        now_ms = self._clock.now_ms()
        batch = build_batch(records, timestamp=now_ms, codec=self._partition.config.codec or 0)
        try:
            appended = self._partition.append(batch, read_header(batch), now_ms)
        except KafkaError as error:
            _refuse(done, error)
            return
        self._partition.when_visible(appended.last_offset, partial(_answer, appended.base_offset, done))


def _answer(base_offset: int, done: Sequence[Done], code: ErrorCode) -> None:
    if code is not ErrorCode.NONE:
        _refuse(done, KafkaError(code))
        return
    for offset, one in enumerate(done, base_offset):
        one(offset, None)


def _refuse(done: Sequence[Done], error: KafkaError) -> None:
    for one in done:
        one(-1, error)
