"""What the parts of a subscription's core share."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from penstock.broker.delivery.core.counters import Tally
from penstock.broker.delivery.core.flights import Flights
from penstock.broker.delivery.core.key_owners import KeyOwners
from penstock.broker.delivery.core.member import Member
from penstock.broker.delivery.core.partition_cursor import Progress
from penstock.broker.delivery.core.position import Position
from penstock.broker.delivery.core.refresh import Refresh
from penstock.broker.delivery.core.rules import Rules
from penstock.broker.delivery.core.turns import Turns


class State:
    """Values alone; collections are the same objects for all of its life, so that others may hold them."""

    __slots__ = (
        "by_key", "dead", "dirty", "evicted", "flights", "members", "owners", "progress", "refresh", "rewind_to",
        "rewinds", "rules", "suspects", "tally", "touched", "turns", "waiting_count",
    )  # fmt: skip

    def __init__(
        self, rules: Rules, positions: Mapping[int, Position], *, by_key: bool, refresh: Refresh | None, tally: Tally
    ) -> None:
        self.rules = rules
        self.by_key = by_key
        self.refresh = refresh
        self.tally = tally
        self.members: dict[str, Member] = {}
        self.progress = {partition: Progress(partition, position) for partition, position in positions.items()}
        self.turns = Turns()
        self.flights = Flights()
        self.owners = KeyOwners()
        self.waiting_count = 0  # messages of keys whose members have no room
        self.dead: dict[tuple[int, int], int] = {}
        """Partition and offset of messages for the dead-letter topic, and how often they were sent."""
        self.suspects: deque[tuple[int, int]] = deque()
        """Partition and offset of messages that several members have lost; some may be done since."""
        self.dirty: set[int] = set()
        """Partitions whose position is not what was stored last."""
        self.touched: dict[Member, None] = {}
        """Members with something outgoing."""
        self.evicted: list[Member] = []
        """Members that must be disconnected: they have not answered, and a refresh waits for them."""
        self.rewinds = 0
        """Rises when everything that was read ahead is worthless."""
        self.rewind_to: dict[int, int] | None = None
        """Where a refresh begins, which waits until nothing is in flight."""

    @property
    def in_flight(self) -> int:
        return sum(member.in_flight for member in self.members.values())
