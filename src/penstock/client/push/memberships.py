"""The subscriptions that a client is a member of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.protocol.push.messages import Delivery, Subscribe
from penstock.protocol.push.values import Start, StartKind

EARLIEST = Start(StartKind.EARLIEST)


@dataclass(slots=True, kw_only=True, eq=False)
class Membership:
    """One membership. `target` is opaque to the core, which only returns it to the driver.

    It is joined by `name`, or with an empty one by `topic` and `group`: then the broker returns the name.
    """

    target: Any
    name: str = ""
    topic: str = ""
    group: str = ""
    credit: int = 0
    messages_per_frame: int = 0
    start: Start = EARLIEST
    delivery: Delivery = Delivery.MESSAGE
    is_ready_by_itself: bool = False
    """Whether the core sends READY when everything below the ends of a RESET is acknowledged."""
    refresh_id: int | None = None
    """The refresh id of a RESET that the core has to answer."""

    def request(self, client_id: str) -> Subscribe:
        name = "" if self.group else self.name
        return Subscribe(
            name,
            self.topic,
            self.group,
            client_id,
            self.credit,
            self.messages_per_frame,
            self.start,
            self.delivery,
        )


def start_of(where: int | str | float) -> Start:
    """The start that a `start_offset` means: an offset (0 is the earliest), earliest, latest, or a time in seconds as
    a float. ValueError for anything else."""
    if isinstance(where, bool):
        raise ValueError(f"start_offset is {where}: give an offset, 'earliest' or 'latest'")
    if isinstance(where, float):
        return Start(StartKind.TIME, round(where * 1000))
    if where in (0, "earliest"):
        return EARLIEST
    if where == "latest":
        return Start(StartKind.LATEST)
    if isinstance(where, int) and where > 0:
        return Start(StartKind.OFFSET, where)
    raise ValueError(
        f"start_offset is {where!r}: give an offset, 'earliest', 'latest', or a time in seconds as a float"
    )


def delivery_of(name: str) -> Delivery:
    if name not in ("message", "key"):
        raise ValueError(f"delivery is {name!r}: use 'message' or 'key'")
    return Delivery[name.upper()]
