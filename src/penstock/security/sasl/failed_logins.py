"""Failed logins, and how long the next attempt has to wait for them.

    of a user at an address   0.1 s after the first failure, doubled by each further one, 10 s at most
      that has logged in      1 s after ten failures
      from there before
    of an address in all      1 s after ten failures; not for users that have logged in from there before

An attempt asks until it has its turn. It counts as failed from then on, before it is checked, so that a crowd of
attempts at the same moment does not get past the pause; a success is taken back. So an address tries about one password
a second, however many connections it has. One that has had no turn for the longest pause is refused unchecked.

A client that knows its password is not held off by others at its address that guess at other users, once it has logged
in from there. From those that guess at the same user it cannot be told before its password is checked: it shares one
attempt a second with them and has longer for it. Nobody can lock a user out from another address.
"""

from __future__ import annotations

import ipaddress
from collections import OrderedDict
from typing import Final

from penstock.model.limits import USER_NAME_BYTES_MAX

FIRST_SECONDS: Final = 0.1
LONGEST_SECONDS: Final = 10.0
PATIENCE_SECONDS: Final = LONGEST_SECONDS + FIRST_SECONDS
"""Time within which an attempt has its turn, or is refused: more than the longest pause, so that one alone has it."""
WELCOME_PATIENCE_SECONDS: Final = 60.0
"""The same for users that have logged in from there before; most clients have given up by then."""
STEADY_SECONDS: Final = 1.0
STEADY_FREE: Final = 10
FORGOTTEN_SECONDS: Final = 900.0
"""Time after the last failure after which it is forgotten."""
ENTRIES_MAX: Final = 20_000
"""Entries of each table; beyond that, the one that was used longest ago is forgotten."""


class _Failures:
    """The failures under one key, and the time from which on the next attempt may be checked."""

    __slots__ = ("count", "free_at", "last", "under_way")

    def __init__(self, now: float) -> None:
        self.count = 0
        """Failures, and attempts that are being checked."""
        self.under_way = 0
        self.free_at = 0.0
        self.last = now

    def wait_s(self, now: float) -> float:
        """How long an attempt waits before it asks again; 0 if it need not."""
        wait = max(0.0, self.free_at - now)
        # What is being checked may be right, and then nobody has to wait for it: look again soon.
        return min(wait, FIRST_SECONDS) if self.under_way else wait

    def begin(self) -> None:
        self.count += 1
        self.under_way += 1

    def end(self) -> None:
        self.under_way = max(0, self.under_way - 1)  # an entry may have been forgotten and made again meanwhile

    def hold_off(self, now: float, pause_s: float) -> None:
        self.free_at = max(self.free_at, now + pause_s)

    def take_back(self) -> None:
        """Undo the count of an attempt that was right."""
        self.end()
        self.count = max(0, self.count - 1)


class _Table:
    """Failures by key, the last used at the end."""

    def __init__(self) -> None:
        self._entries: OrderedDict[tuple[str, ...], _Failures] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: tuple[str, ...], now: float) -> _Failures | None:
        entry = self._entries.get(key)
        if entry is not None and now - entry.last > FORGOTTEN_SECONDS and not entry.under_way:
            del self._entries[key]
            return None
        return entry

    def make(self, key: tuple[str, ...], now: float) -> _Failures:
        entry = self.get(key, now)
        if entry is None:
            entry = self._entries[key] = _Failures(now)
        self._entries.move_to_end(key)
        if len(self._entries) > ENTRIES_MAX:
            self._entries.popitem(last=False)
        return entry

    def forget(self, key: tuple[str, ...]) -> None:
        self._entries.pop(key, None)


class FailedLogins:
    """One for a node. `now` is monotonic, in seconds."""

    def __init__(self) -> None:
        self._users = _Table()
        self._addresses = _Table()
        self._welcome: OrderedDict[tuple[str, str], None] = OrderedDict()  # logged in from there before

    def __len__(self) -> int:
        """The largest of its tables."""
        return max(len(self._users), len(self._addresses), len(self._welcome))

    def turn(self, address: str, user: str, now: float, came_at: float) -> float | None:
        """Ask for the turn of an attempt: 0 if it is now, else the seconds to wait before asking again, None if never.

        Whoever has its turn says then whether the attempt has failed or succeeded.
        """
        key = _key(address, user)
        is_welcome = key in self._welcome
        asked = [self._users.get(key, now), None if is_welcome else self._addresses.get(key[:1], now)]
        wait = max((entry.wait_s(now) for entry in asked if entry is not None), default=0.0)
        if wait:
            left = came_at + (WELCOME_PATIENCE_SECONDS if is_welcome else PATIENCE_SECONDS) - now
            return min(wait, left) if left > 0 else None
        for entry in (self._users.make(key, now), self._addresses.make(key[:1], now)):
            entry.begin()
        self._hold_off(key, now)
        return 0.0

    def failed(self, address: str, user: str, now: float) -> None:
        """The attempt that had its turn was wrong, or was given up."""
        key = _key(address, user)
        for entry in (self._users.make(key, now), self._addresses.make(key[:1], now)):
            entry.end()
            entry.count = max(1, entry.count)
            entry.last = now
        self._hold_off(key, now)

    def succeeded(self, address: str, user: str, now: float) -> None:
        key = _key(address, user)
        for table, each in ((self._users, key), (self._addresses, key[:1])):
            entry = table.get(each, now)
            if entry is None:
                continue
            entry.take_back()
            # Logins take no attempts from those that wait. Failures of the user stay: who logs in often would
            # otherwise let those go on that guess at its password.
            if entry.count < STEADY_FREE or table is self._users:
                entry.free_at = 0.0
            if not entry.count:
                table.forget(each)
        if key not in self._welcome:
            self._users.forget(key)
        self._welcome[key] = None
        self._welcome.move_to_end(key)
        if len(self._welcome) > ENTRIES_MAX:
            self._welcome.popitem(last=False)

    def _hold_off(self, key: tuple[str, str], now: float) -> None:
        """Keep the next attempts waiting for what is known of their user and address."""
        is_welcome = key in self._welcome
        own, of_address = self._users.make(key, now), self._addresses.make(key[:1], now)
        own.hold_off(now, _steady_pause(own.count) if is_welcome else _growing_pause(own.count))
        if not is_welcome:
            of_address.hold_off(now, _steady_pause(of_address.count))


def source_of(address: str) -> str:
    """What stands for an address: a host has 2^64 addresses of IPv6, so it is their network."""
    if ":" not in address:
        return address
    return str(ipaddress.ip_network((address.partition("%")[0], 64), strict=False).network_address)


def _key(address: str, user: str) -> tuple[str, str]:
    """The key of an attempt; names are bounded."""
    return source_of(address), user[:USER_NAME_BYTES_MAX]


def _growing_pause(failures: int) -> float:
    return min(LONGEST_SECONDS, FIRST_SECONDS * (1 << min(failures - 1, 10)))


def _steady_pause(failures: int) -> float:
    return STEADY_SECONDS if failures >= STEADY_FREE else 0.0
