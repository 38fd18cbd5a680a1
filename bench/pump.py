"""Keeps produce requests under way, on one connection or on many, and counts their answers.

The load generator must cost next to nothing, or it would be what is measured: frames are built beforehand, one receive
takes as many answers as there are, one send passes as many frames on, and of an answer nothing is looked at but its
error code. That works because the answers to one topic have one size.
"""

from __future__ import annotations

import select
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from bench.wire import Address, Connect, Wire, error_at, produce_answer_bytes

_BUFFER_BYTES = 1 << 16
# A broker that does not answer for so long never will.
ANSWER_TIMEOUT_S = 60.0


@dataclass(slots=True)
class Pumped:
    """Answers, how long they took altogether, and each one's seconds from send to answer."""

    answers: int = 0
    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)


class Lane:
    """One connection with its frames, which are sent in turn, over and over.

    `in_flight` requests are under way at any time. Every frame is for `partitions` partitions of `topic`.
    """

    def __init__(
        self,
        address: Address,
        topic: str,
        frames: Sequence[bytes],
        in_flight: int = 1,
        partitions: int = 1,
        connect: Connect = Wire,
    ) -> None:
        self.wire = connect(address)
        self.wire.socket.settimeout(ANSWER_TIMEOUT_S)
        self._answer_bytes = produce_answer_bytes(topic, partitions)
        self._error_at = error_at(topic)
        self._in_flight = in_flight
        self._frames = list(frames)
        # As many copies as can be sent at once from any position on.
        self._ring = self._frames + (self._frames * in_flight)[:in_flight]
        self._next = 0
        self._buffer = bytearray(_BUFFER_BYTES)
        self._view = memoryview(self._buffer)
        self._have = 0
        self._sent: deque[float] = deque()
        self._joined = {count: self._frames[0] * count for count in range(1, in_flight + 1)}

    @property
    def waiting(self) -> int:
        return len(self._sent)

    def fill(self) -> None:
        self.send(self._in_flight - len(self._sent))

    def send(self, count: int, due: float | None = None) -> None:
        """The next frames. Their latency counts from when they were due, if that is given."""
        if len(self._frames) == 1:
            data = self._joined[count]
        else:
            data = b"".join(self._ring[self._next : self._next + count])
            self._next = (self._next + count) % len(self._frames)
        since = time.perf_counter() if due is None else due
        for _ in range(count):
            self._sent.append(since)
        self.wire.send(data)

    def take(self, latencies: list[float]) -> int:
        """One receive; how many answers it completed."""
        received = self.wire.receive_some(self._view[self._have :])
        now = time.perf_counter()
        if not received:
            raise ConnectionError("the broker closed the connection")
        self._have += received
        size, buffer = self._answer_bytes, self._buffer
        count = self._have // size
        for at in range(self._error_at, count * size, size):
            if buffer[at] or buffer[at + 1]:
                raise RuntimeError(f"produce was refused: error {int.from_bytes(buffer[at : at + 2], 'big')}")
            latencies.append(now - self._sent.popleft())
        rest = self._have - count * size
        if rest and count:
            buffer[:rest] = buffer[count * size : self._have]
        self._have = rest
        return count

    def close(self) -> None:
        self._view.release()
        self.wire.close()


def pump(lane: Lane, seconds: float) -> Pumped:
    """Keep one connection busy for so long, and wait for what is under way then."""
    result = Pumped()
    latencies = result.latencies
    started = time.perf_counter()
    end = started + seconds
    lane.fill()
    while time.perf_counter() < end:
        count = lane.take(latencies)
        if count:
            lane.send(count)
    while lane.waiting:
        lane.take(latencies)
    result.seconds = time.perf_counter() - started
    result.answers = len(latencies)
    return result


def pump_count(lane: Lane, count: int) -> None:
    """At least so many requests, as data for another measurement."""
    latencies: list[float] = []
    lane.fill()
    while len(latencies) < count:
        answered = lane.take(latencies)
        if answered:
            lane.send(answered)
    while lane.waiting:
        lane.take(latencies)


def pump_all(lanes: Sequence[Lane], seconds: float) -> Pumped:
    """The same for many connections at once."""
    result = Pumped()
    latencies = result.latencies
    by_descriptor = {lane.wire.socket.fileno(): lane for lane in lanes}
    with select.epoll() as poll:
        for descriptor in by_descriptor:
            poll.register(descriptor, select.EPOLLIN)
        started = time.perf_counter()
        end = started + seconds
        for lane in lanes:
            lane.fill()
        while (busy := time.perf_counter() < end) or any(lane.waiting for lane in lanes):
            ready = poll.poll(ANSWER_TIMEOUT_S)
            if not ready:
                raise TimeoutError("no answer on any connection")
            for descriptor, _ in ready:
                lane = by_descriptor[descriptor]
                count = lane.take(latencies)
                if count and busy:
                    lane.send(count)
        result.seconds = time.perf_counter() - started
    result.answers = len(latencies)
    return result
