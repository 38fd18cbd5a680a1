"""Delivery by key: which member has a key, for as long as it has messages of that key that are not done.

Keys are put into a fixed number of slots. A slot without unfinished messages goes to the member that the slot's own
order of members puts first, so that a member who joins or leaves moves few of them; a slot with some stays where it
is, or the messages of a key could be at two members at a time.
"""

from __future__ import annotations

from collections.abc import Iterable
from zlib import crc32

from penstock.broker.delivery.core.member import Member

SLOTS = 1024


def slot_of(key: bytes) -> int:
    return crc32(key) % SLOTS


class KeyOwners:
    """Slots of one subscription."""

    __slots__ = ("_owners", "_preferred")

    def __init__(self) -> None:
        self._owners: dict[int, tuple[Member, int]] = {}  # and how many unfinished messages it has of the slot
        self._preferred: dict[int, Member] = {}

    def clear(self) -> None:
        self._owners.clear()
        self._preferred.clear()

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
        """A slot without unfinished messages goes to another member, if there is one, until members come or go."""
        others = [one for one in members if one is not member]
        if others:
            self._preferred[slot] = _first(slot, others)

    def took(self, slot: int, member: Member) -> None:
        held = self._owners.get(slot)
        self._owners[slot] = (member, 1 if held is None else held[1] + 1)

    def finished(self, slot: int) -> None:
        """One message less, done or given back."""
        held = self._owners.get(slot)
        if held is None:
            return
        if held[1] == 1:
            del self._owners[slot]
        else:
            self._owners[slot] = (held[0], held[1] - 1)


def _first(slot: int, members: Iterable[Member]) -> Member:
    return max(members, key=lambda one: (crc32(one.member_id.encode(), slot), one.member_id))
