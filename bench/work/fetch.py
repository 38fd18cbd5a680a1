"""Reading: 8 MiB a request, one in flight, over the log that `produce_batches` wrote.

The data is received and thrown away by the kernel (MSG_TRUNC), all but the first bytes of each answer: a reader that
copied it out would be most of what is measured. All batches of that log are of one size, so the next offset follows
from the length of the answer.
"""

from __future__ import annotations

import socket
import struct
import time

from bench.pump import Lane
from bench.spread import Figures, spread
from bench.wire import Wire, create_topic, fetch_answer_head_bytes, fetch_frame, produce_frame
from bench.work.produce import BATCH_MESSAGES, BATCHES_TOPIC, IN_FLIGHT, MESSAGE_BYTES
from bench.work.run import Run

FETCH_BYTES = 8 << 20
MINIMUM_REQUESTS = 300
_FIRST_BATCH = struct.Struct(">qi")
_DISCARD_BYTES = 1 << 20


def fetch(run: Run) -> Figures:
    create_topic(run.address, BATCHES_TOPIC)
    _ensure_data(run)
    reader = _Reader(run)
    reader.read(run.warm_up)
    run.meter.begin("Fetch")
    started = time.perf_counter()
    received, latencies = reader.read(run.seconds)
    took = time.perf_counter() - started
    figures = run.meter.end(received // MESSAGE_BYTES)
    reader.wire.close()
    return {"bytes_per_s": received / took, **spread(latencies), **figures}


def _ensure_data(run: Run) -> None:
    """Some seconds of reading, if `produce_batches` was left out."""
    lane = Lane(run.address, BATCHES_TOPIC, [produce_frame(BATCHES_TOPIC, 0, BATCH_MESSAGES, MESSAGE_BYTES)], IN_FLIGHT)
    reader = _Reader(run)
    if not reader.has_data(MINIMUM_REQUESTS * FETCH_BYTES):
        latencies: list[float] = []
        lane.fill()
        while len(latencies) * BATCH_MESSAGES * MESSAGE_BYTES < MINIMUM_REQUESTS * FETCH_BYTES:
            lane.send(count) if (count := lane.take(latencies)) else None
        while lane.waiting:
            lane.take(latencies)
    reader.wire.close()
    lane.close()


class _Reader:
    def __init__(self, run: Run) -> None:
        self.wire = Wire(run.address)
        self._head_bytes = fetch_answer_head_bytes(BATCHES_TOPIC)
        self._waste = bytearray(_DISCARD_BYTES)
        # What waiting for the topic wrote: a message a time, before the batches.
        self._start = self._offset = 1
        self._batch_bytes = 0

    def has_data(self, size: int) -> bool:
        batches = size // (BATCH_MESSAGES * MESSAGE_BYTES)
        self._offset = self._start + (batches - 1) * BATCH_MESSAGES
        found = self._one() > 0
        self._offset = self._start
        return found

    def read(self, seconds: float) -> tuple[int, list[float]]:
        """Bytes of records, and the time of each request. From the start again at the end of the log."""
        received, latencies = 0, []
        end = time.perf_counter() + seconds
        while (started := time.perf_counter()) < end:
            size = self._one()
            received += size
            if size:
                latencies.append(time.perf_counter() - started)
                self._offset += size // self._batch_bytes * BATCH_MESSAGES
            else:
                self._offset = self._start
        return received, latencies

    def _one(self) -> int:
        self.wire.send(fetch_frame(BATCHES_TOPIC, 0, self._offset, max_bytes=FETCH_BYTES, max_wait_ms=0, min_bytes=1))
        head = self.wire.take(self._head_bytes)
        size = int.from_bytes(head[-4:], "big", signed=True)
        if size <= 0:
            return 0
        base_offset, length = _FIRST_BATCH.unpack(self.wire.take(_FIRST_BATCH.size))
        if base_offset != self._offset:
            raise RuntimeError(f"asked for offset {self._offset} and was given {base_offset}")
        self._batch_bytes = length + _FIRST_BATCH.size
        self._discard(size - _FIRST_BATCH.size)
        return size

    def _discard(self, size: int) -> None:
        receive, waste = self.wire.socket.recv_into, self._waste
        while size:
            received = receive(waste, min(size, _DISCARD_BYTES), socket.MSG_TRUNC)
            if not received:
                raise ConnectionError("the broker closed the connection")
            size -= received
