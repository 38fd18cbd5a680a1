"""Whose the producer ids without transactions are: a bounded table, in which nobody can push out the ids of others.

A full table forgets an id of the principal that has most of them: of the one that asks, if it has its share or more. So
one that asks for ids without end loses its own. Once the table is half full, uses of ids are noted, and an id that was
used gets a second chance: what is forgotten are the producers that are gone.

Ids of push clients are durable, and bounded where they are made (`push.producers_max`): they are never pushed out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final
from weakref import WeakValueDictionary

from penstock.security.principal import Principal

OWNERS_MAX: Final = 200_000
"""Of producer ids that Kafka clients have asked for; about 30 MB, and a kilobyte for each principal."""
FORGOTTEN_AT_ONCE: Final = 1_000
"""Ids of the principal with most of them that make room for others, because finding it takes a look at all."""
CHANCES_MAX: Final = 1_000
"""Ids that are passed over for one that is forgotten; a tenth of a millisecond."""


class Owner:
    """A principal and the ids that it has asked for, oldest first. `ProducerOwners` changes them.

    An id that was used is marked by being `used`'s, which is the same principal: a mark that takes no memory.
    """

    __slots__ = ("__weakref__", "ids", "principal", "used")

    def __init__(self, principal: Principal, ids: deque[int], used: Owner | None = None) -> None:
        self.principal = principal
        self.ids = ids
        self.used = used


class ProducerOwners:
    """Owners of producer ids."""

    def __init__(self, count_max: int) -> None:
        self.of: dict[int, Owner] = {}
        self.is_crowded = False
        """Whether uses are to be noted."""
        self._count_max = count_max
        self._count = 0  # of ids that can be pushed out
        self._asking: dict[Principal, Owner] = {}  # those who have such ids
        self._owners: WeakValueDictionary[Principal, Owner] = WeakValueDictionary()  # while they have any

    def given(self, producer_id: int, principal: Principal) -> None:
        """Note who asked for a new producer id."""
        if self._count >= self._count_max:
            self._make_room(principal)
        owner = self._asking[principal] = self._owner(principal)
        owner.ids.append(producer_id)
        self.of[producer_id] = owner
        self._count += 1
        self.is_crowded = self._count * 2 > self._count_max

    def keep(self, rows: Iterable[tuple[int, Principal]]) -> None:
        """Note whose producer ids are until they are released."""
        for producer_id, principal in rows:
            self.of[producer_id] = self._owner(principal)

    def release(self, producer_ids: Iterable[int]) -> None:
        """Forget ids that were kept."""
        for producer_id in producer_ids:
            self.of.pop(producer_id, None)

    def note_use(self, producer_id: int) -> None:
        mark = self.of[producer_id].used
        if mark is not None:
            self.of[producer_id] = mark

    def _owner(self, principal: Principal) -> Owner:
        owner = self._owners.get(principal)
        if owner is None:
            ids: deque[int] = deque()
            owner = self._owners[principal] = Owner(principal, ids, Owner(principal, ids))
        return owner

    def _make_room(self, asking: Principal) -> None:
        share = self._count / len(self._asking)
        owner = self._asking.get(asking)
        count = 1
        if owner is None or len(owner.ids) < share:
            owner = max(self._asking.values(), key=lambda each: len(each.ids))
            count = max(1, min(FORGOTTEN_AT_ONCE, len(owner.ids) - int(share)))
        for _ in range(count):
            self._forget_one(owner)
        self._count -= count
        if not owner.ids:
            del self._asking[owner.principal]

    def _forget_one(self, owner: Owner) -> None:
        for _ in range(CHANCES_MAX):
            producer_id = owner.ids[0]
            if self.of[producer_id] is owner:
                break
            self.of[producer_id] = owner
            owner.ids.rotate(-1)
        del self.of[owner.ids.popleft()]
