"""The partition of an internal topic in which a coordinator keeps its state: appended to, and read back at the start.

No call blocks: each write has a function that is called with the outcome, in the order of the log. If an append is
refused nothing was written, and the outcome says so. If a flush fails the log is offline for good, and the state in
memory may be ahead of the disk: it is forgotten, and all writes that wait, like all later requests, get
COORDINATOR_NOT_AVAILABLE. A restart recovers.
"""

from __future__ import annotations

import asyncio
import enum
import logging
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncIterator, Callable
from functools import partial

from penstock.broker.coordination.look_alikes import without_look_alikes
from penstock.cluster.partition import Partition
from penstock.model.batch import HEADER_BYTES, BatchHeader, Buffer, read_header
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.record_walk import keys_and_values
from penstock.model.records import records_payload
from penstock.observability.repeats import Repeats
from penstock.storage.interface import LogState, ReadSlice

logger = logging.getLogger(__name__)

Outcome = Callable[[ErrorCode], None]
READ_BYTES = 1 << 18


class CoordinatorState(enum.Enum):
    """The state of a shard; the value is the error for requests meanwhile."""

    LOADING = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    ACTIVE = ErrorCode.NONE
    FAILED = ErrorCode.COORDINATOR_NOT_AVAILABLE


class CoordinatorLog(ABC):
    """The base of a shard, which adds the state that lives in the partition, and says how to forget it."""

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.state = CoordinatorState.LOADING
        self._unflushed: deque[tuple[int, Outcome]] = deque()
        self._refusals = Repeats(logger)  # a client may commit more than a batch has room for, again and again

    def check(self) -> None:
        """Raise unless requests can be served."""
        if self.state is not CoordinatorState.ACTIVE:
            raise KafkaError(self.state.value)

    @abstractmethod
    def forget_all(self) -> None:
        """Drop all state in memory, because the log has failed. Called once, before the outcomes of writes."""

    def append_batch(
        self, batch: bytearray, now_ms: int, outcome: Outcome, appended: Callable[[int], None] | None = None
    ) -> None:
        """Append one batch; `outcome` is called once it is on disk, or with the error if it will never be.

        `appended` is called in between with the last offset, only if the batch was taken.
        """
        try:
            batch = without_look_alikes(batch)
            last_offset = self.partition.append_trusted(batch, read_header(batch), now_ms).last_offset
        except KafkaError as error:
            if self.partition.failed:
                self.fail()
            self._refusals.warning(
                error.code, "%s-%d refused %d bytes: %r", self.partition.topic, self.partition.index, len(batch), error
            )
            outcome(error.code)
            return
        if appended is not None:
            appended(last_offset)
        self._unflushed.append((last_offset, outcome))
        self.partition.when_visible(last_offset, partial(self._stored, last_offset))

    @property
    def is_flushed(self) -> bool:
        """Whether everything that was appended is on disk."""
        return not self._unflushed

    def when_flushed(self, outcome: Outcome) -> bool:
        """Return whether everything appended is on disk; if not, `outcome` is called when it is, or never will be."""
        if not self._unflushed:
            return True
        self._unflushed.append((self._unflushed[-1][0], outcome))
        return False

    def _stored(self, last_offset: int, code: ErrorCode) -> None:
        if code is not ErrorCode.NONE:
            self.fail()
            return
        while self._unflushed and self._unflushed[0][0] <= last_offset:
            self._unflushed.popleft()[1](ErrorCode.NONE)

    def fail(self) -> None:
        """Give the shard up: its log has failed, or its topic is gone."""
        if self.state is not CoordinatorState.FAILED:
            self.state = CoordinatorState.FAILED
            logger.error(
                "%s-%d failed, its groups or transactions are unavailable", self.partition.topic, self.partition.index
            )
            self.forget_all()
        while self._unflushed:
            self._unflushed.popleft()[1](ErrorCode.COORDINATOR_NOT_AVAILABLE)

    async def pieces(self) -> AsyncIterator[bytes]:
        """The batches of the log, some at a time. KafkaError or OSError if they cannot be read."""
        partition = self.partition
        if partition.failed or partition.state is not LogState.ONLINE:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"the log is {partition.state.value}")
        offset = partition.log_start
        end = partition.high_watermark
        while offset < end:
            piece = await self._read(offset)
            yield bytes(piece.records)  # decoding bytes is faster than decoding a view
            if piece.next_offset <= offset:
                raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"nothing can be read at offset {offset} of {end}")
            offset = piece.next_offset

    async def _read(self, offset: int) -> ReadSlice:
        read = self.partition.read
        try:
            return read(offset, READ_BYTES, one_batch_at_least=True, wait=False)
        except BlockingIOError:
            return await asyncio.to_thread(read, offset, READ_BYTES, one_batch_at_least=True, wait=True)


def batch_items(buffer: Buffer, position: int, header: BatchHeader) -> list[tuple[bytes | None, bytes | None]]:
    """Keys and values of the batch at `position`. KafkaError if it does not decode."""
    try:
        if header.codec == 0:
            return keys_and_values(buffer, header.record_count, position + HEADER_BYTES, position + header.size_bytes)
        return keys_and_values(records_payload(buffer, header, position), header.record_count)
    except (ValueError, IndexError) as error:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"offset {header.base_offset}: {error}") from error


def resolving(future: asyncio.Future[ErrorCode]) -> Outcome:
    """An outcome that resolves the future, for coroutines."""

    def outcome(code: ErrorCode) -> None:
        if not future.done():
            future.set_result(code)

    return outcome
