"""Reads a log of equal batches as fast as a broker gives it, 8 MiB a request, one in flight.

The data is received and thrown away by the kernel, all but the first bytes of each answer: a reader that
copied it out would be most of what is measured. All batches are of one size, so the next offset follows from the length
of the answer, and the first batch of an answer shows that it is the one asked for.
"""

from __future__ import annotations

import struct
import time

from bench.wire import Address, Connect, Wire, fetch_answer_head_bytes, fetch_frame

FETCH_BYTES = 8 << 20
_FIRST_BATCH = struct.Struct(">qi")


class Reader:
    """From offset `start` on, over batches of so many messages each, round and round."""

    def __init__(
        self, address: Address, topic: str, batch_messages: int, *, start: int = 1, connect: Connect = Wire
    ) -> None:
        self.wire = connect(address)
        self._topic = topic
        self._batch_messages = batch_messages
        self._head_bytes = fetch_answer_head_bytes(topic)
        # Offset 0 is the message that showed the topic to be ready.
        self._start = self._offset = start
        self._batch_bytes = 0

    def has_batches(self, count: int) -> bool:
        self._offset = self._start + (count - 1) * self._batch_messages
        found = self._one() > 0
        self._offset = self._start
        return found

    def read(self, seconds: float) -> tuple[int, list[float]]:
        """Bytes of records, and the time of each request. At the end of the log it starts again."""
        received = 0
        latencies: list[float] = []
        end = time.perf_counter() + seconds
        while (started := time.perf_counter()) < end:
            size = self._one()
            received += size
            if size:
                latencies.append(time.perf_counter() - started)
                self._offset += size // self._batch_bytes * self._batch_messages
            elif self._offset == self._start:
                raise RuntimeError(f"{self._topic} has nothing to read")
            else:
                self._offset = self._start
        return received, latencies

    def _one(self) -> int:
        frame = fetch_frame(self._topic, 0, self._offset, max_bytes=FETCH_BYTES, max_wait_ms=0, min_bytes=1)
        self.wire.send(frame)
        head = self.wire.take(self._head_bytes)
        size = int.from_bytes(head[-4:], "big", signed=True)
        if size <= 0:
            return 0
        base_offset, length = _FIRST_BATCH.unpack(self.wire.take(_FIRST_BATCH.size))
        if base_offset != self._offset:
            raise RuntimeError(f"asked for offset {self._offset} and was given {base_offset}")
        self._batch_bytes = length + _FIRST_BATCH.size
        self.wire.discard(size - _FIRST_BATCH.size)
        return size

    def close(self) -> None:
        self.wire.close()
