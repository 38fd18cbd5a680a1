"""Who has logged in at how many connections: one principal does not keep all others out.

    greedy     a principal with more than half of all connections; there is one at most, and mostly none
    kept free  a sixteenth of all: so many places are not settled while there is a greedy principal, but free or taken
               by connections that give way
    excess     connections of the greedy principal beyond that: they are served as others are, and give way first

So whoever arrives finds a place in which to log in, and takes it from the greedy principal alone. A stranger never
makes a settled one give way, however often it comes: only a login does that, of somebody else, and one for one. Below
the limit nobody gives way, so that the only user of a node may have as many connections as there may be.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from itertools import islice
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from penstock.net.admission.admission import Admission
    from penstock.net.admission.door import Door
    from penstock.net.admission.ticket import Ticket

KEPT_FREE_SHARE: Final = 16
LOOKED_AT_MAX: Final = 1_000
"""Connections among which the one that was idle for longest is searched: less than a millisecond."""


class Owners:
    """Those of one admission."""

    def __init__(self, admission: Admission) -> None:
        self._admission = admission
        self._tickets: dict[Hashable, dict[Ticket, None]] = {}
        self._greedy: Hashable | None = None

    def add(self, ticket: Ticket) -> None:
        """Note the owner of a ticket. It may have too many now, or somebody else has for whom there is less room."""
        tickets = self._tickets.setdefault(ticket.owner, {})
        tickets[ticket] = None
        if self._is_greedy(tickets):
            self._greedy = ticket.owner
        if self._greedy is not None and self._is_short(ticket.door):
            excess = ticket if ticket.owner == self._greedy else self._idlest()
            if excess is not None:
                excess.door.excess[excess] = None

    def remove(self, ticket: Ticket) -> None:
        """Forget a ticket with an owner."""
        tickets = self._tickets[ticket.owner]
        del tickets[ticket]
        ticket.door.excess.pop(ticket, None)
        if not tickets:
            del self._tickets[ticket.owner]
        if ticket.owner == self._greedy and not self._is_greedy(tickets):
            self._greedy = None
            for door in self._admission.doors:
                door.excess.clear()  # they are settled again

    def _is_greedy(self, tickets: dict[Ticket, None]) -> bool:
        return 2 * len(tickets) > self._admission.limits.connections_max

    def _is_short(self, door: Door) -> bool:
        """Whether fewer places are left for those who arrive at a door than are kept free."""
        admission = self._admission
        connections_max = admission.limits.connections_max
        settled = admission.open_count - sum(each.loose_count for each in admission.doors)
        kept_free = max(1, connections_max // KEPT_FREE_SHARE)
        return settled + kept_free + admission.kept_from(door) > connections_max

    def _idlest(self) -> Ticket | None:
        """The settled connection of the greedy principal that was idle for longest, if it has one."""
        return idlest(each for each in self._tickets[self._greedy] if each not in each.door.excess)


def idlest(tickets: Iterable[Ticket]) -> Ticket | None:
    """The one that was not used for longest, among the first of them."""
    return min(islice(tickets, LOOKED_AT_MAX), key=lambda ticket: ticket.last_used(), default=None)
