"""Acquisitions: offsets of one partition that one holder has, and their queue by deadline."""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

Holder = TypeVar("Holder")

_FINISHED_KEPT = 64


class Acquisition(Generic[Holder]):
    """Offsets that one holder acquired together; with `holder` None one offset that waits for its next holder.

    `previous` are the holders before this one, oldest first. `count` is the delivery count, `losses` says how many of
    those deliveries ended without an answer. `left` is the number of offsets that are not answered yet.
    """

    __slots__ = ("count", "deadline_ms", "holder", "left", "losses", "offsets", "previous")

    def __init__(
        self,
        holder: Holder | None,
        previous: tuple[Holder, ...],
        offsets: list[int],
        count: int,
        deadline_ms: int,
        losses: int = 0,
    ) -> None:
        self.holder = holder
        self.previous = previous
        self.offsets = offsets
        self.left = len(offsets)
        self.count = count
        self.deadline_ms = deadline_ms
        self.losses = losses


class AcquisitionQueue(deque[Acquisition[Holder]]):
    """Acquisitions with a holder, by deadline: no deadline is earlier than the one before it.

    An answered acquisition stays until it is first, or until too many of them lie behind one that is not answered:
    taking it out of the middle at once would cost a search for every answer.
    """

    __slots__ = ("length_max",)

    def __init__(self) -> None:
        super().__init__()
        self.length_max = _FINISHED_KEPT

    def forget_finished(self) -> None:
        while self and not self[0].left:
            self.popleft()
        if len(self) > self.length_max:
            unfinished = [one for one in self if one.left]
            self.clear()
            self.extend(unfinished)
            self.length_max = _FINISHED_KEPT + 2 * len(unfinished)

    def next_deadline_ms(self) -> int | None:
        self.forget_finished()
        return self[0].deadline_ms if self else None

    def take_expired(self, now_ms: int) -> list[Acquisition[Holder]]:
        """Remove and return the unanswered acquisitions whose deadline has come."""
        expired: list[Acquisition[Holder]] = []
        while self and (not self[0].left or self[0].deadline_ms <= now_ms):
            acquisition = self.popleft()
            if acquisition.left:
                expired.append(acquisition)
        return expired

    def held_by(self, holder: Holder) -> list[Acquisition[Holder]]:
        return [one for one in self if one.holder is holder and one.left]
