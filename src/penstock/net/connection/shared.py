"""State that the connections of one listener share, and the bounds of each."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

from penstock.net.admission.door import Door
from penstock.net.admission.ticket import Ticket
from penstock.net.endpoint import NOWHERE, Endpoint
from penstock.net.flow_control import FlowControl
from penstock.net.outbox import Outbox
from penstock.net.service import Service
from penstock.observability.repeats import STRANGERS_LINES_MAX, Repeats

if TYPE_CHECKING:
    from penstock.net.connection.connection import Connection


logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """The bounds of each connection; those over all of them are in `flow`."""

    frame_bytes_max: int
    in_flight_max: int
    queued_bytes_max: int
    unread_bytes_max: int


@dataclass(slots=True)
class Shared:
    """One object for all connections of a listener."""

    service: Service
    flow: FlowControl
    limits: ConnectionLimits
    clock: Callable[[], float]
    door: Door
    on_open: Callable[[Connection], None]
    on_close: Callable[[Connection], None]
    on_broken: Callable[[str], None]
    scratch: memoryview
    outbox: Outbox
    broken_lines: Repeats = field(default_factory=lambda: Repeats(logger, lines_max=STRANGERS_LINES_MAX))
    """The log of connections that were closed for what their clients sent."""
    ids: Iterator[int] = field(default_factory=lambda: count(1))
    """The number of the next connection."""
    endpoint: Endpoint = NOWHERE
    """The local address of connections that do not report their own."""
    has_one_address: bool = False
    """Whether it is the local address of all of them, so that none is asked for its own."""
    encrypted: bool = False
    """Whether the connections are under TLS."""
    muted: int = 0
    """Number of connections that are not read because their clients are over a quota."""
    others: tuple[Callable[[memoryview], bool | None], Callable[[Ticket], asyncio.Protocol]] | None = None
    """Whether a connection with these first bytes is for another door (None: more are needed), and its protocol."""

    def hand_over(
        self, is_other: Callable[[memoryview], bool | None], make: Callable[[Ticket], asyncio.Protocol]
    ) -> None:
        assert self.others is None, "another door has the connections already"
        self.others = (is_other, make)


def ignore() -> None:
    """The callback of a connection that has ended, in its parts: they refer to it no longer, so that it is freed."""
