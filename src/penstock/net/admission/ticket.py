"""A connection's place among those that are open: its ticket, or the reason why it has none."""

from __future__ import annotations

import enum
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.net.admission.door import Door


class Refusal(enum.StrEnum):
    """The reason why a connection is not admitted. It is closed at once, and nothing has been kept for it."""

    TOTAL = "total"
    ADDRESS = "address"
    RATE = "rate"

    @property
    def text(self) -> str:
        """The reason in words, with the setting that decides it."""
        return _TEXTS[self]


_TEXTS = {
    Refusal.TOTAL: "as many connections are open as there may be (limits.connections_max)",
    Refusal.ADDRESS: "too many connections of this address are open (limits.connections_per_address_max)",
    Refusal.RATE: "too many new connections of this address a second (limits.connection_rate_per_address_max)",
}


def ignore() -> None:
    """The `drop` of a ticket whose connection is not silent, or has ended: it refers to it no longer."""


def long_ago() -> float:
    """The `last_used` of a ticket without an owner."""
    return 0.0


class Ticket:
    """The place of one connection, from the moment at which it is accepted until it is released.

    A connection is silent until it has sent its first complete request, and has logged in where it has to; then it is
    confirmed. While it is silent, `drop` may be called at any time: it closes the connection without a word. That holds
    as long as it is open where it has an owner, who may turn out to have too many (`net.admission.owners`).
    """

    __slots__ = ("_is_open", "door", "drop", "host", "last_used", "owner", "since")

    def __init__(self, door: Door, host: str, drop: Callable[[], None], since: float) -> None:
        self.door = door
        self.host = host
        self.drop = drop
        self.since = since
        self.owner: Hashable | None = None
        """Who has logged in, if the client has."""
        self.last_used: Callable[[], float] = long_ago
        """When an owner's connection was last used, by the clock of the admission."""
        self._is_open = True

    def heard(self) -> None:
        """Note that a request is complete whose client may have to log in; that takes its own time."""
        if self in self.door.silent:
            del self.door.silent[self]
            self.door.strangers[self] = None

    def confirm(self, owner: Hashable | None = None, last_used: Callable[[], float] = long_ago) -> None:
        """Note that the client has sent a complete request, and was let in. May be called again.

        `owner` is who has logged in: None where clients need not, since then they cannot be told apart.
        """
        if self.owner is not None and owner in (None, self.owner):
            return
        self._settle()
        if owner is None or self.drop is ignore:
            self.drop = ignore
            return
        self.owner, self.last_used = owner, last_used
        self.door.admission.owners.add(self)

    def _settle(self) -> None:
        """Let it keep its place, whoever it is."""
        self.door.silent.pop(self, None)
        if self.door.strangers:
            self.door.strangers.pop(self, None)
        if self.owner is not None:
            self.door.admission.owners.remove(self)
            self.owner, self.last_used = None, long_ago

    def move(self, door: Door, drop: Callable[[], None]) -> None:
        """Count the connection at the door to which its client turned out to belong, still silent."""
        assert self._is_open, "a ticket that was released cannot move"
        self.confirm()
        self.door.open_count -= 1
        self.door, self.drop = door, drop
        door.open_count += 1
        door.silent[self] = None

    def hand_over(self, drop: Callable[[], None]) -> None:
        """Close the connection in another way from now on, while it is silent."""
        if self._is_open:
            self.drop = drop

    def release(self) -> None:
        """Give the place back, because the connection has ended. May be called again."""
        if self._is_open:
            self._is_open = False
            if self.drop is not ignore:
                self._settle()
                self.drop = ignore
            self.door.open_count -= 1
            self.door.admission.left(self.host)
