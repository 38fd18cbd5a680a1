"""Admission of connections to all doors of a node: in total, from one address, and new ones of an address a second.

A door asks at the moment of accept, before it makes anything for the connection. A connection takes a descriptor, which
storage needs, too: the total is never more than the descriptors of the process allow.

    total     places are taken by whoever comes; a few are kept for each door that must be reachable
    silent    a connection without a complete request has a time limit, and gives way to a new one when all places, or
              all of its address, are taken: a crowd that says nothing cannot keep out clients that do
    strangers a connection whose client has not been let in gives way, too, once it has sent a request
    owners    a principal that has more than half of all gives way with some of them (`owners`)
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from penstock.net.admission.address_rates import AddressRates
from penstock.net.admission.door import NO_ROOM, TOO_SLOW, Door
from penstock.net.admission.owners import Owners
from penstock.net.admission.ticket import Refusal, Ticket
from penstock.observability.repeats import Repeats

logger = logging.getLogger(__name__)

LOOPBACK: Final = "127.0.0.1"
"""The address of most clients that have no rate, without another look."""

RESERVE_SHARE: Final = 8
"""No reserve is more than this part of all connections, so that a small total stays usable."""
TOO_MANY: Final = "too many"
LOOKED_AT_MAX: Final = 100
"""Silent connections of a door among which one of an address is searched; where it has a crowd, it is the first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionLimits:
    connections_max: int
    per_address_max: int
    rate_per_address_max: int = 0
    """New connections of an address a second; 0: no limit. Clients on the same machine have none."""


class Admission:
    """One for a node. Call everything on the event loop's thread."""

    def __init__(self, limits: AdmissionLimits, clock: Callable[[], float] = time.monotonic) -> None:
        self.limits = limits
        self.doors: list[Door] = []
        self.full_at: float | None = None
        """When a connection was last refused because all places were taken."""
        self.open_count = 0
        """Connections of all doors."""
        self._reserves = 0
        self._clock = clock
        self._by_address: dict[str, int] = {}
        self.owners = Owners(self)
        self._rates = AddressRates(limits.rate_per_address_max)
        self._repeats = Repeats(logger, clock)

    def door(self, name: str, *, reserve: int = 0, silent_seconds_max: float) -> Door:
        """Make the share of one door, each once."""
        assert all(door.name != name for door in self.doors), f"there is a door {name} already"
        reserve = min(reserve, self.limits.connections_max // RESERVE_SHARE)
        door = Door(self, name, reserve=reserve, silent_seconds_max=silent_seconds_max)
        self.doors.append(door)
        self._reserves += reserve
        return door

    def seconds_since_full(self) -> float | None:
        return None if self.full_at is None else self._clock() - self.full_at

    def admit(self, door: Door, host: str, drop: Callable[[], None]) -> Ticket | Refusal:
        now = self._clock()
        if host != LOOPBACK and not self._rates.take(host, now):
            return self._refuse(door, host, Refusal.RATE)
        by_address = self._by_address
        if by_address.get(host, 0) >= self.limits.per_address_max and not self._make_room_of(host):
            return self._refuse(door, host, Refusal.ADDRESS)
        # Mostly there is room whatever is left of the reserves.
        if self.open_count + self._reserves >= self.limits.connections_max and not self._make_room(door):
            self.full_at = now
            return self._refuse(door, host, Refusal.TOTAL)
        by_address[host] = by_address.get(host, 0) + 1  # one of them may have made room
        self.open_count += 1
        door.open_count += 1
        ticket = Ticket(door, host, drop, now)
        door.silent[ticket] = None
        return ticket

    def left(self, host: str) -> None:
        """Note that a connection of this address has ended."""
        self.open_count -= 1
        others = self._by_address.pop(host) - 1
        if others:
            self._by_address[host] = others

    async def sweep(self) -> None:
        """Close the connections whose time for a first request is over. Called every second or so."""
        now = self._clock()
        for door in self.doors:
            oldest = now - door.silent_seconds_max
            while door.silent and door.oldest.since < oldest:
                door.drop(door.oldest, TOO_SLOW)

    def _has_room(self, door: Door) -> bool:
        return self.open_count + self.kept_from(door) < self.limits.connections_max

    def kept_from(self, door: Door) -> int:
        """Places that are kept for other doors."""
        return sum(other.unused_reserve for other in self.doors if other is not door)

    def _make_room(self, door: Door) -> bool:
        """Close loose connections of the door that has most of them. False if that gives this door no place."""
        while not self._has_room(door):
            # A place below a door's reserve would be kept for that door.
            crowded = [
                each for each in self.doors if each.loose_count and (each is door or each.open_count > each.reserve)
            ]
            if not crowded:
                return False
            self._drop_for_room(max(crowded, key=lambda each: each.loose_count))
        return True

    def _make_room_of(self, host: str) -> bool:
        """Close an old silent connection of an address. False if it has none, or too many others are older."""
        for door in sorted(self.doors, key=lambda each: -each.loose_count):
            for ticket in door.unknown(LOOKED_AT_MAX):
                if ticket.host == host:
                    door.drop(ticket, NO_ROOM)
                    return True
        return False

    def _drop_for_room(self, door: Door) -> None:
        ticket = door.loosest
        owner = ticket.owner
        door.drop(ticket, NO_ROOM)
        if owner is not None:
            self._repeats.warning(
                (door.name, TOO_MANY),
                "all %d connections are taken (limits.connections_max), more than half of them by %s: one of its"
                " connections is closed for each new one",
                self.limits.connections_max,
                owner,
            )
            return
        self._repeats.warning(
            (door.name, NO_ROOM),
            "all %d connections are taken (limits.connections_max), some by clients of the %s door that have not sent a"
            " request or logged in: the oldest of these is closed for each new connection",
            self.limits.connections_max,
            door.name,
        )

    def _refuse(self, door: Door, host: str, refusal: Refusal) -> Refusal:
        door.refused[refusal] += 1
        self._repeats.warning((door.name, refusal), "refused %s at the %s door: %s", host, door.name, refusal.text)
        return refusal
