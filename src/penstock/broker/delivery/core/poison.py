"""Messages that no member completes: those suspected of killing their members, and those delivered too often.

While there are suspects, members get one message at a time. Otherwise everything that is in flight beside a message
that kills would be delivered as often as that one and become a dead letter with it; and so would messages that only
wait for their turn with a handler that is too slow for its credit.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from penstock.broker.delivery.core.member import Member
from penstock.broker.delivery.core.rules import Rules
from penstock.broker.progress.partition_cursor import Cursors


class DeadLetter(NamedTuple):
    """A message that was delivered too often."""

    partition: int
    offset: int
    deliveries: int


class Exhausted:
    """Messages that were delivered as often as the rules allow, on their way to the dead-letter topic.

    No member is sent them meanwhile; but a late answer of an earlier holder counts.
    """

    __slots__ = ("_counts", "_cursors")

    def __init__(self, cursors: Cursors[Member]) -> None:
        self._cursors = cursors
        self._counts: dict[tuple[int, int], int] = {}  # deliveries, by partition and offset

    def __len__(self) -> int:
        """Number of dead letters; some of them may have been answered since."""
        return len(self._counts)

    def __contains__(self, place: tuple[int, int]) -> bool:
        return place in self._counts

    def add(self, partition: int, offset: int, deliveries: int) -> None:
        self._counts[partition, offset] = deliveries

    def letters(self) -> list[DeadLetter]:
        """Messages for the dead-letter topic; each stays among them until `stored` is called for it."""
        letters = [DeadLetter(*place, count) for place, count in self._counts.items()]
        for letter in letters:
            if not self._is_current(letter):
                del self._counts[letter.partition, letter.offset]
        return [letter for letter in letters if (letter.partition, letter.offset) in self._counts]

    def stored(self, letter: DeadLetter) -> None:
        """Mark a message as done that is in the dead-letter topic, has expired, or is no longer in the log."""
        if self._is_current(letter):
            self._cursors[letter.partition].archive(letter.offset)
        self._counts.pop((letter.partition, letter.offset), None)

    def clear(self) -> None:
        self._counts.clear()

    def _is_current(self, letter: DeadLetter) -> bool:
        cursor = self._cursors.get(letter.partition)
        message = None if cursor is None else cursor.get(letter.offset)
        return message is not None and message.holder is None and message.count == letter.deliveries


class Suspects:
    """Messages that several members have had without an answer."""

    __slots__ = ("_cursors", "_exhausted", "_is_careful", "_places", "_rules")

    def __init__(self, rules: Rules, cursors: Cursors[Member], exhausted: Exhausted) -> None:
        self._rules = rules
        self._cursors = cursors
        self._exhausted = exhausted
        self._places: deque[tuple[int, int]] = deque()  # partition and offset; some may be done since
        self._is_careful = self._are_ahead()

    def __len__(self) -> int:
        return len(self._places)

    def note(self, partition: int, offset: int, losses: int) -> None:
        """Note how often a message was lost."""
        if losses >= self._rules.losses_max:
            self._places.append((partition, offset))

    def look_ahead(self) -> None:
        """Look at messages that were sent before a restart: there are further ones."""
        self._is_careful = True

    @property
    def must_look(self) -> bool:
        return self._is_careful or bool(self._places)

    def look(self) -> bool:
        """Whether members must get only one message at a time."""
        places = self._places
        while places and not self._is_suspect(*places[0]):
            places.popleft()
        self._is_careful = bool(places) or self._are_ahead()
        return self._is_careful

    def _is_suspect(self, partition: int, offset: int) -> bool:
        cursor = self._cursors.get(partition)
        message = None if cursor is None else cursor.get(offset)
        return (
            message is not None
            and message.losses >= self._rules.losses_max
            and (partition, offset) not in self._exhausted
        )

    def _are_ahead(self) -> bool:
        """Whether there may be suspects among messages that were sent before a restart: whether those were lost or
        given back is no longer known.
        """
        rules = self._rules
        return any(
            rules.losses_max <= counted.deliveries < rules.deliveries_max
            for cursor in self._cursors.values()
            for counted in cursor.ahead.counted
        )
