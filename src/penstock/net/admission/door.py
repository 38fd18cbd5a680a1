"""One door's share of the admission: its open connections, those that are silent, and those that were turned away."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from functools import partial
from heapq import merge
from itertools import islice
from typing import TYPE_CHECKING

from penstock.net.admission.owners import idlest
from penstock.net.admission.ticket import Refusal, Ticket

if TYPE_CHECKING:
    from penstock.net.admission.admission import Admission

NO_ROOM = "room"
TOO_SLOW = "timeout"


class Door:
    """Made by `Admission.door`; a door calls `admit` for each connection that it accepts, before anything else.

    `reserve` connections are kept free for this door, whatever the others have open. `silent_seconds_max` is the time
    for the first complete request of a connection.
    """

    def __init__(self, admission: Admission, name: str, *, reserve: int, silent_seconds_max: float) -> None:
        self.admission = admission
        self.admit: Callable[[str, Callable[[], None]], Ticket | Refusal] = partial(admission.admit, self)
        """Count a new connection of an address, which is "" for a client without one.

        The caller closes the connection if it is refused, and otherwise releases the ticket when it has ended. The
        second argument closes a connection that is still silent when its time is over, or when another one needs its
        place.
        """
        self.name = name
        self.reserve = reserve
        self.silent_seconds_max = silent_seconds_max
        self.open_count = 0
        self.silent: OrderedDict[Ticket, None] = OrderedDict()
        """Connections that have not sent a complete request, the oldest first."""
        self.strangers: OrderedDict[Ticket, None] = OrderedDict()
        """Connections with a request whose client has not been let in, the oldest first.

        They give way like silent ones, but their time is that of the login.
        """
        self.excess: OrderedDict[Ticket, None] = OrderedDict()
        """Connections that have logged in, of a principal that has too many."""
        self.refused: Counter[str] = Counter()
        self.dropped: Counter[str] = Counter()

    @property
    def unused_reserve(self) -> int:
        return max(0, self.reserve - self.open_count)

    @property
    def oldest(self) -> Ticket:
        """The connection that has been silent for longest; there has to be one."""
        return next(iter(self.silent))

    @property
    def loose_count(self) -> int:
        """Connections that give way to others."""
        return len(self.silent) + len(self.strangers) + len(self.excess)

    @property
    def loosest(self) -> Ticket:
        """The one of them that gives way first; there has to be one."""
        return idlest(self.excess) or next(self.unknown(1))

    def unknown(self, count_max: int) -> Iterator[Ticket]:
        """The first that are silent or have not logged in, the oldest first, with up to `count_max` of each kind.

        One that is new gives way last, whichever kind it is: a crowd whose logins are held off does not keep out those
        that have just come.
        """
        return merge(islice(self.silent, count_max), islice(self.strangers, count_max), key=_age)

    def drop(self, ticket: Ticket, reason: str) -> None:
        """Close a connection that is silent, or has an owner."""
        drop = ticket.drop
        ticket.release()  # at once: the place is needed before the connection reports its end
        self.dropped[reason] += 1
        drop()


def _age(ticket: Ticket) -> float:
    return ticket.since
