"""Single messages of many senders to one partition, gathered into batches.

Messages of one turn of the event loop are one batch: one append and one sync for all of them, and those that come
during the sync are the next one. A message costs two or three microseconds that way; a batch of its own would cost
forty. Doors whose clients send message by message use it; Kafka's clients gather for themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from penstock.broker.records.batcher import Batcher
from penstock.model.batch_builder import NewRecord, record_bytes_max
from penstock.model.errors import ErrorCode, KafkaError

Done = Callable[[int, KafkaError | None], None]
"""Called once: with the message's offset when readers see it, or with -1 and the reason why it is not stored."""


class Gatherer:
    """The gatherer of one partition. Everything happens on the event loop, whose `call_soon` ends a turn's batch."""

    __slots__ = ("_batcher", "_call_soon", "_done")

    def __init__(self, batcher: Batcher, call_soon: Callable[[Callable[[], None]], object]) -> None:
        self._batcher = batcher
        self._call_soon = call_soon
        self._done: list[Done] = []

    def add(self, record: NewRecord, done: Done) -> None:
        """Store a record with the others of this turn. `done` is called at once if it can never be stored."""
        try:
            self._batcher.check(record)
        except KafkaError as error:
            done(-1, error)
            return
        size = record_bytes_max(record)
        if not self._batcher.has_room(size):
            self._append()
        if not self._done:
            self._call_soon(self._append)
        self._batcher.add(record, size)
        self._done.append(done)

    def _append(self) -> None:
        done, self._done = self._done, []
        if not done:
            return
        try:
            appended = self._batcher.append()
        except KafkaError as error:
            _refuse(done, error)
            return
        self._batcher.partition.when_visible(appended.last_offset, partial(_answer, appended.base_offset, done))


def _answer(base_offset: int, done: Sequence[Done], code: ErrorCode) -> None:
    if code is not ErrorCode.NONE:
        _refuse(done, KafkaError(code))
        return
    for offset, one in enumerate(done, base_offset):
        one(offset, None)


def _refuse(done: Sequence[Done], error: KafkaError) -> None:
    for one in done:
        one(-1, error)
