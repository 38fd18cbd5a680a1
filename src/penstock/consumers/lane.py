"""One partition of one consumer: its undone messages in order, and the next step. No I/O, no clock.

The driver asks `next`, makes the calls, and reports with `succeeded` and `failed`. Only the head of the line is ever
called; while it waits for its next attempt no other message of its partition overtakes it.

    next ──► Work ──► succeeded ──► next …
              │
              └──► failed ──► Pause (another attempt) ──► next …
                      └──► GiveUp (attempts used up) ──► dropped or again ──► next …

A batch whose attempts are used up is taken apart: each of its messages gets one more call, in a batch of its own, so
that one bad message does not make the others fail.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from penstock.client.push.message import Message
from penstock.consumers.policy import RetryPolicy


@dataclass(frozen=True, slots=True)
class Work:
    """Calls to make, in this order, until one fails: one for each message, or one for all if it is a batch handler."""

    messages: Sequence[Message]


@dataclass(frozen=True, slots=True)
class Pause:
    """A time before which nothing is to be done."""

    until: float


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Decision to give up the message at the head, which has used up its attempts."""

    message: Message
    attempts: int


class Lane:
    """One lane. Not thread-safe."""

    def __init__(self, policy: RetryPolicy, *, batch: int | None = None, run: int = 100) -> None:
        """A batch handler gets `batch` messages per call; one Work has up to `run` single calls."""
        self._policy = policy
        self._batch = batch
        self._run = run
        self._line: deque[Message] = deque()
        self._offsets: set[int] = set()
        self._failures = 0
        self._not_before = 0.0
        self._head_size = 0  # of the batch that failed: it is tried again as it was
        self._at_work = 0  # of those at the front, which were named in a Work
        self._apart = 0  # messages of a taken-apart batch that are still to be called one by one

    def __len__(self) -> int:
        return len(self._line)

    def add(self, messages: Iterable[Message]) -> None:
        """Take delivered messages. One that is being handled is not taken twice; a late one gets its place in order."""
        for message in messages:
            offset = message.sequence_number
            if offset in self._offsets:
                continue
            self._offsets.add(offset)
            place = len(self._line)
            while place > self._at_work and self._line[place - 1].sequence_number > offset:
                place -= 1
            self._line.insert(place, message)

    def keep(self, generation: int | None) -> None:
        """Forget messages of other connections: they were not acknowledged, so they come again."""
        kept = [message for message in self._line if message.generation == generation]
        if len(kept) == len(self._line):
            return
        self._line = deque(kept)
        self._offsets = {message.sequence_number for message in kept}
        self._at_work = self._apart = 0
        self._settled()

    def next(self, now: float) -> Work | Pause | None:
        """The next step; None if there are no messages."""
        if not self._line:
            return None
        if now < self._not_before:
            return Pause(self._not_before)
        self._at_work = self._size()
        return Work([self._line[index] for index in range(self._at_work)])

    def _size(self) -> int:
        if self._batch is None:
            return 1 if self._failures else min(len(self._line), self._run)
        if self._apart:
            return 1
        return self._head_size or min(len(self._line), self._batch)

    def succeeded(self, count: int) -> list[Message]:
        """Note that the first messages are done, and return them for acknowledgement."""
        self._at_work = max(0, self._at_work - count)
        if not count:
            return []
        done = [self._line.popleft() for _ in range(count)]
        self._offsets.difference_update(message.sequence_number for message in done)
        self._apart = max(0, self._apart - count)
        self._settled()
        return done

    def failed(self, now: float, *, size: int = 1, final: bool = False) -> Pause | GiveUp:
        """Note that the call for the head failed; for a batch handler `size` is its number of messages. A `final`
        failure would only repeat itself.
        """
        self._failures += 1
        self._at_work = min(self._at_work, size)
        if not final and not self._apart and self._failures < self._policy.attempts:
            self._head_size = size
            self._not_before = now + self._policy.pause_s(self._failures)
            return Pause(self._not_before)
        if size > 1:
            self._settled()
            self._apart = size
            return Pause(now)
        return GiveUp(self._line[0], self._failures)

    def again(self, now: float) -> None:
        """Give the head all its attempts again, after the longest pause it had."""
        pause_s = self._policy.pause_s(self._failures)
        self._settled()
        self._not_before = now + pause_s

    def holds(self, message: Message) -> bool:
        """Whether a message is still the head: not after `keep`, even if it has come again."""
        return bool(self._line) and self._line[0] is message

    def dropped(self) -> Message:
        """Remove the head, which has been handled in another way."""
        return self.succeeded(1)[0]

    def _settled(self) -> None:
        self._failures = 0
        self._head_size = 0
        self._not_before = 0.0
