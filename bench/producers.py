"""Producers with an id, idempotent or transactional, and how they are kept busy."""

from __future__ import annotations

import select
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from bench.producer_wire import CONCURRENT_TRANSACTIONS, ProduceFrame, end_answer, end_frame, init_producer_id
from bench.pump import ANSWER_TIMEOUT_S
from bench.wire import Address, Wire


@dataclass(frozen=True, slots=True, kw_only=True)
class Habit:
    """How a producer writes: batches of so many messages, so many under way at once.

    A transaction ends after `batches`, or if `commit_every` is given, so many seconds after it began.
    """

    messages: int
    message_bytes: int = 100
    in_flight: int = 1
    batches: int = 1
    commit_every: float | None = None


@dataclass(slots=True)
class Produced:
    """Batches that were acknowledged, and each transaction's seconds from its first byte to the acknowledged commit."""

    batches: int = 0
    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)

    @property
    def transactions(self) -> int:
        return len(self.latencies)


class Producer:
    """One connection and one partition."""

    def __init__(
        self, address: Address, topic: str, partition: int, habit: Habit, transactional_id: str | None = None
    ) -> None:
        self.wire = Wire(address)
        self.wire.socket.settimeout(ANSWER_TIMEOUT_S)
        self._habit, self._transactional_id = habit, transactional_id
        self._identity = init_producer_id(self.wire, transactional_id)
        self._frame = ProduceFrame(topic, partition, habit.messages, habit.message_bytes, transactional_id)
        self._sequence = 0
        self._waiting = 0
        self._sent = 0  # batches of this transaction
        self._begun = 0.0
        self._has_joined = transactional_id is None  # the first batch of a transaction goes alone: it may be sent away
        self._is_ending = False

    @property
    def is_idle(self) -> bool:
        return not self._waiting and not self._is_ending

    def go_on(self, *, to_the_end: bool) -> None:
        """Send what is to be sent now. `to_the_end`: nothing new, only the end of what has begun."""
        in_flight = self._habit.in_flight if self._has_joined else 1
        while not self._is_ending and self._waiting < in_flight and not self._is_full(to_the_end):
            if not self._sent:
                self._begun = time.perf_counter()
            self._produce(self._sequence)
            self._sequence += self._habit.messages
            self._sent += 1
        if self._transactional_id and self._sent and self.is_idle:
            self._is_ending = True
            self.wire.send(end_frame(self._transactional_id, self._identity))

    def begin(self) -> None:
        """The first batch of a transaction, acknowledged; the transaction stays open."""
        produced = Produced()
        self._begun = time.perf_counter()
        self._sent = 1
        self._produce(0)
        while not produced.batches:
            self.take(produced)

    def _is_full(self, to_the_end: bool) -> bool:
        if to_the_end or self._transactional_id is None:
            return to_the_end
        if self._habit.commit_every is None:
            return self._sent >= self._habit.batches
        return self._sent > 0 and time.perf_counter() - self._begun >= self._habit.commit_every

    def _produce(self, sequence: int) -> None:
        self.wire.send(self._frame.numbered(self._identity, sequence))
        self._waiting += 1

    def take(self, produced: Produced) -> None:
        """One answer."""
        answer = self.wire.receive()
        if not self._is_ending:
            self._acknowledged(answer, produced)
            return
        code, identity = end_answer(answer)
        if code:
            raise RuntimeError(f"EndTxn was refused: error {code}")
        self._identity = identity
        produced.latencies.append(time.perf_counter() - self._begun)
        self._sent = self._sequence = 0
        self._has_joined = self._is_ending = False

    def _acknowledged(self, answer: bytearray, produced: Produced) -> None:
        code = self._frame.error(answer)
        self._waiting -= 1
        if code == CONCURRENT_TRANSACTIONS and not self._has_joined:
            # A client waits 20 ms or more; asking again at once is to the advantage of the broker that sent it away.
            self._produce(0)
        elif code:
            raise RuntimeError(f"produce was refused: error {code}")
        else:
            self._has_joined = True
            produced.batches += 1

    def close(self) -> None:
        self.wire.close()


def keep_busy(producers: Sequence[Producer], seconds: float) -> Produced:
    """All of them at once for so long; what has begun then is brought to its end."""
    result = Produced()
    by_descriptor = {producer.wire.socket.fileno(): producer for producer in producers}
    with select.epoll() as poll:
        for descriptor in by_descriptor:
            poll.register(descriptor, select.EPOLLIN)
        started = time.perf_counter()
        end = started + seconds
        for producer in producers:
            producer.go_on(to_the_end=False)
        while (busy := time.perf_counter() < end) or not all(producer.is_idle for producer in producers):
            ready = poll.poll(ANSWER_TIMEOUT_S)
            if not ready:
                raise TimeoutError("no answer on any connection")
            for descriptor, _ in ready:
                producer = by_descriptor[descriptor]
                producer.take(result)
                producer.go_on(to_the_end=not busy)
        result.seconds = time.perf_counter() - started
    return result
