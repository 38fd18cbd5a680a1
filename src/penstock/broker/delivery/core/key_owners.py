"""Delivery by key: the member that owns a key as long as messages of that key are unfinished.

Keys are put into a fixed number of slots. A slot without unfinished messages goes to the member that the slot's own
order of members puts first, so that a member that joins or leaves moves few of them. A slot with unfinished messages
stays with its owner: otherwise two members could have messages of the same key at the same time.
"""

from __future__ import annotations

from collections.abc import Iterable
from zlib import crc32

from penstock.broker.delivery.core.member import Member, Waiting

SLOTS = 1024
WAITING_MAX = 1000
"""Messages that may wait for credit of the member of their key before all keys behind them wait, too."""


def slot_of(key: bytes) -> int:
    return crc32(key) % SLOTS


class KeyOwners:
    """The slots of one subscription, their unfinished messages, and those of them that wait for credit.

    It stays empty in a subscription that does not deliver by key.
    """

    __slots__ = ("_owners", "_preferred", "_slots", "waiting_count")

    def __init__(self) -> None:
        self._owners: dict[int, tuple[Member, int]] = {}  # with the number of unfinished messages of the slot
        self._preferred: dict[int, Member] = {}
        self._slots: dict[tuple[int, int], int] = {}  # of unfinished messages, by partition and offset
        self.waiting_count = 0

    def clear(self) -> None:
        self._owners.clear()
        self._preferred.clear()
        self._slots.clear()
        self.waiting_count = 0

    def members_changed(self) -> None:
        self._preferred.clear()

    def owner(self, slot: int, members: Iterable[Member]) -> Member:
        held = self._owners.get(slot)
        if held is not None:
            return held[0]
        preferred = self._preferred.get(slot)
        if preferred is None:
            preferred = self._preferred[slot] = _first(slot, members)
        return preferred

    def avoid(self, slot: int, member: Member, members: Iterable[Member]) -> None:
        """Prefer another member for a slot without unfinished messages, if there is one, until members change."""
        others = [one for one in members if one is not member]
        if others:
            self._preferred[slot] = _first(slot, others)

    def took(self, slot: int, member: Member, partition: int, offset: int) -> None:
        """Note that a message of a slot has gone to its member, or waits for credit there."""
        self._slots[partition, offset] = slot
        held = self._owners.get(slot)
        self._owners[slot] = (member, 1 if held is None else held[1] + 1)

    def slot(self, partition: int, offset: int) -> int | None:
        """The slot of an unfinished message; None if it was not delivered by key."""
        return self._slots.get((partition, offset))

    def finished(self, partition: int, offsets: Iterable[int]) -> None:
        """Note that no member has these messages any more, done or given back: their slots may change owners."""
        if not self._slots:
            return
        for offset in offsets:
            slot = self._slots.pop((partition, offset), None)
            if slot is not None:  # the message went by its key
                member, count = self._owners.pop(slot)
                if count > 1:
                    self._owners[slot] = (member, count - 1)

    # --- messages that wait for credit -------------------------------------------------------------------------------

    def wait(self, member: Member, waiting: Waiting) -> None:
        """Keep a message for the member of its key, which has no room."""
        member.waiting.append(waiting)
        self.waiting_count += 1

    def next_waiting(self, member: Member) -> Waiting:
        self.waiting_count -= 1
        return member.waiting.popleft()

    def take_waiting(self, member: Member, slot: int | None = None) -> list[Waiting]:
        """Remove and return the messages that wait for a member, of one slot or of all."""
        taken = [waiting for waiting in member.waiting if slot is None or waiting.slot == slot]
        if taken:
            kept = [waiting for waiting in member.waiting if slot is not None and waiting.slot != slot]
            member.waiting.clear()
            member.waiting.extend(kept)
            self.waiting_count -= len(taken)
        return [waiting for waiting in taken if waiting.is_current]


def _first(slot: int, members: Iterable[Member]) -> Member:
    return max(members, key=lambda one: (crc32(one.member_id.encode(), slot), one.member_id))
