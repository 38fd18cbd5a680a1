"""Delivery by key: which member has a key, for as long as messages of that key are unfinished.

Keys are put into a fixed number of slots. A slot without unfinished messages goes to the member that the slot's own
order of members puts first, so that a member that joins or leaves moves few of them. A slot with unfinished messages
stays where it is: otherwise the messages of a key could be at two members at a time.
"""

from __future__ import annotations

from collections.abc import Iterable
from zlib import crc32

from penstock.broker.delivery.core.member import Member

SLOTS = 1024


def slot_of(key: bytes) -> int:
    return crc32(key) % SLOTS


class KeyOwners:
    """The slots of one subscription, and which unfinished messages lie in them."""

    __slots__ = ("_owners", "_preferred", "_slots")

    def __init__(self) -> None:
        self._owners: dict[int, tuple[Member, int]] = {}  # with the number of unfinished messages of the slot
        self._preferred: dict[int, Member] = {}
        self._slots: dict[tuple[int, int], int] = {}  # of unfinished messages, by partition and offset

    def clear(self) -> None:
        self._owners.clear()
        self._preferred.clear()
        self._slots.clear()

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
        """A message of a slot has gone to its member, or waits for credit there."""
        self._slots[partition, offset] = slot
        held = self._owners.get(slot)
        self._owners[slot] = (member, 1 if held is None else held[1] + 1)

    def slot(self, partition: int, offset: int) -> int | None:
        """The slot of an unfinished message; None if it went without its key."""
        return self._slots.get((partition, offset))

    def finished(self, partition: int, offset: int) -> None:
        """One message less: it is done or was given back. Messages that went without a key are none of ours."""
        slot = self._slots.pop((partition, offset), None)
        if slot is None:
            return
        member, count = self._owners[slot]
        if count == 1:
            del self._owners[slot]
        else:
            self._owners[slot] = (member, count - 1)


def _first(slot: int, members: Iterable[Member]) -> Member:
    return max(members, key=lambda one: (crc32(one.member_id.encode(), slot), one.member_id))
