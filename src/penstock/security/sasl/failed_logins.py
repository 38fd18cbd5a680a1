"""Failed logins, and how long the next attempt has to wait for them.

    of a user at an address   0.1 s after the first failure, doubled by each further one, 10 s at most
    of an address in all      1 s after ten failures in a row; not for users that have logged in from there before

An attempt takes its turn when it comes: attempts over many connections wait one behind the other, so that an address
tries about one password a second however many connections it has. One that would wait for longer than the longest pause
is refused after it, unchecked. A client that knows its password is not held off by others at its address that do not,
once it has logged in from there; nobody can lock a user out from another address.
"""

from __future__ import annotations

import ipaddress
from collections import OrderedDict
from typing import Final, NamedTuple

from penstock.model.limits import USER_NAME_BYTES_MAX

FIRST_SECONDS: Final = 0.1
LONGEST_SECONDS: Final = 10.0
OF_ADDRESS_SECONDS: Final = 1.0
OF_ADDRESS_FREE: Final = 10
FORGOTTEN_SECONDS: Final = 900.0
"""Time after the last failure after which it is forgotten."""
ENTRIES_MAX: Final = 20_000
"""Entries of each table; beyond that, the one that was used longest ago is forgotten."""


class _Failures:
    """The failures under one key, and the time from which on the next attempt may be checked."""

    __slots__ = ("count", "free_at", "last")

    def __init__(self) -> None:
        self.count = 0
        self.free_at = 0.0
        self.last = 0.0


class _Table:
    """Failures by key, the last used at the end."""

    def __init__(self) -> None:
        self._entries: OrderedDict[tuple[str, ...], _Failures] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: tuple[str, ...], now: float) -> _Failures | None:
        entry = self._entries.get(key)
        if entry is not None and now - entry.last > FORGOTTEN_SECONDS:
            del self._entries[key]
            return None
        return entry

    def make(self, key: tuple[str, ...], now: float) -> _Failures:
        entry = self.get(key, now)
        if entry is None:
            entry = self._entries[key] = _Failures()
        entry.last = now
        self._entries.move_to_end(key)
        if len(self._entries) > ENTRIES_MAX:
            self._entries.popitem(last=False)
        return entry

    def forget(self, key: tuple[str, ...]) -> None:
        self._entries.pop(key, None)


class Turn(NamedTuple):
    """How long an attempt waits, and whether it is checked then."""

    wait_s: float
    is_checked: bool


class FailedLogins:
    """One for a node. `now` is monotonic, in seconds."""

    def __init__(self) -> None:
        self._users = _Table()
        self._addresses = _Table()
        self._welcome: OrderedDict[tuple[str, str], None] = OrderedDict()  # logged in from there before

    def __len__(self) -> int:
        """The largest of its tables."""
        return max(len(self._users), len(self._addresses), len(self._welcome))

    def turn(self, address: str, user: str, now: float) -> Turn:
        """The turn of an attempt that comes now."""
        key = _key(address, user)
        own = self._users.get(key, now)
        of_address = None if key in self._welcome else self._addresses.get(key[:1], now)
        waits = [entry.free_at - now for entry in (own, of_address) if entry is not None]
        wait = max([0.0, *waits])
        if wait >= LONGEST_SECONDS + FIRST_SECONDS:  # more than the longest pause: others wait before it
            return Turn(LONGEST_SECONDS, is_checked=False)
        if own is not None:
            own.free_at = now + wait + _pause_of_user(own.count)
        if of_address is not None:  # from its own turn on: a user that waits for longer does not hold others off
            of_address.free_at = max(now, of_address.free_at) + _pause_of_address(of_address.count)
        return Turn(wait, is_checked=True)

    def failed(self, address: str, user: str, now: float) -> None:
        key = _key(address, user)
        own, of_address = self._users.make(key, now), self._addresses.make(key[:1], now)
        own.count += 1
        own.free_at = max(own.free_at, now + _pause_of_user(own.count))
        of_address.count += 1
        of_address.free_at = max(of_address.free_at, now + _pause_of_address(of_address.count))

    def succeeded(self, address: str, user: str) -> None:
        key = _key(address, user)
        self._users.forget(key)
        self._welcome[key] = None
        self._welcome.move_to_end(key)
        if len(self._welcome) > ENTRIES_MAX:
            self._welcome.popitem(last=False)


def _key(address: str, user: str) -> tuple[str, str]:
    """The key of an attempt. A host has 2^64 addresses of IPv6, so its network stands for them; names are bounded."""
    if ":" in address:
        network = ipaddress.ip_network((address.partition("%")[0], 64), strict=False)
        address = str(network.network_address)
    return address, user[:USER_NAME_BYTES_MAX]


def _pause_of_user(failures: int) -> float:
    return min(LONGEST_SECONDS, FIRST_SECONDS * (1 << min(failures - 1, 10)))


def _pause_of_address(failures: int) -> float:
    return OF_ADDRESS_SECONDS if failures >= OF_ADDRESS_FREE else 0.0
