"""Failed logins, and how long the next attempt has to wait for them.

    of a user at an address   0.1 s after the first failure, doubled by each further one, 10 s at most
    of an address in all      1 s after ten failures

An attempt asks until it has its turn. It counts as failed from then on, before it is checked, so that a crowd of
attempts at the same moment does not get past the pause; a success is taken back. So an address tries about one password
a second, however many connections it has. One that has had no turn for a minute is refused unchecked.

A user that has logged in from an address before is welcome there. Its attempts have the same turns, in which they are
told that they were wrong: nobody can see from the time of an answer who logs in from where. But they are checked before
that, and let in at once if they are right, so that a client that knows its password is not held off by others at its
address that guess:

    no wrong attempt at this user from there lately    at once
    others                                             all welcome users of an address together: at once for the first
                                                       ten that are wrong, then one a second

From those that guess at the same user a client cannot be told before its password is checked. It shares one attempt a
second with them, and has a minute for it. Nobody can lock a user out from another address.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from penstock.model.limits import USER_NAME_BYTES_MAX
from penstock.model.text.address import source_of

FIRST_SECONDS: Final = 0.1
LONGEST_SECONDS: Final = 10.0
PATIENCE_SECONDS: Final = 60.0
"""Time within which an attempt has its turn, or is refused; most clients have given up by then. The same for all, since
an attempt that waited longer would be that of a user which is welcome."""
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

    def hold_off(self, now: float, pause_s: float) -> float:
        """Keep the next attempt waiting; returns until when."""
        self.free_at = max(self.free_at, now + pause_s)
        return self.free_at

    def take_back(self, until: float) -> None:
        """Undo the count of an attempt that was right, and the pause that it has made, if it is the last one."""
        self.end()
        self.count = max(0, self.count - 1)
        if self.count < STEADY_FREE or self.free_at == until:
            self.free_at = 0.0


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


class Held:
    """An attempt, from the moment at which it comes until it is checked and told."""

    __slots__ = ("came_at", "early", "had_early", "has_turn", "key", "until")

    def __init__(self, key: tuple[str, str], now: float) -> None:
        self.key = key
        self.came_at = now
        self.has_turn = False
        self.until = 0.0
        """The end of the pause that its turn, or its early check, has made for others."""
        self.had_early = False
        self.early: tuple[_Failures, ...] = ()
        """What counts its early check, while that is under way."""

    def wait_s(self, wait_s: float, now: float) -> float | None:
        """How long it waits of a time before it asks again; None if it has no more patience."""
        left = self.came_at + PATIENCE_SECONDS - now
        return min(wait_s, left) if left > 0 else None


class FailedLogins:
    """One for a node. `now` is monotonic, in seconds.

    An attempt asks for its turn, and meanwhile for an early check, until it has one. Whoever has it says then whether
    the attempt has failed or succeeded.
    """

    def __init__(self) -> None:
        self._users = _Table()
        self._addresses = _Table()
        self._welcome: OrderedDict[tuple[str, str], _Failures] = OrderedDict()  # logged in from there before
        self._of_welcome = _Table()  # wrong attempts at welcome users, by address

    def __len__(self) -> int:
        """The largest of its tables."""
        return max(len(self._users), len(self._addresses), len(self._welcome), len(self._of_welcome))

    def come(self, address: str, user: str, now: float) -> Held:
        """A new attempt; names are bounded."""
        return Held((source_of(address), user[:USER_NAME_BYTES_MAX]), now)

    def turn(self, held: Held, now: float) -> float | None:
        """Ask for the turn of an attempt: 0 if it is now, else the seconds to wait before asking again, None if never.

        The same for every user, welcome or not, or none.
        """
        key = held.key
        asked = (self._users.get(key, now), self._addresses.get(key[:1], now))
        wait_s = max((entry.wait_s(now) for entry in asked if entry is not None), default=0.0)
        if wait_s:
            return held.wait_s(wait_s, now)
        held.has_turn = True
        for entry in self._entries(key, now):
            entry.begin()
        self._hold_off(held, now)
        return 0.0

    def early(self, held: Held, now: float) -> float | None:
        """Ask for an early check, as for a turn. An attempt that is not right in it still needs its turn to be told."""
        own = self._welcome.get(held.key)
        if own is None or held.had_early:
            return None
        if now - own.last > FORGOTTEN_SECONDS and not own.under_way:
            own.count = 0
        held_by = own  # alone, if there was no wrong attempt at it
        if own.count:
            held_by = self._of_welcome.make(held.key[:1], now)
            wait_s = held_by.wait_s(now)
            if wait_s:
                return held.wait_s(min(wait_s, FIRST_SECONDS) if own.under_way else wait_s, now)
        held.had_early = True
        held.early = (own,) if held_by is own else (own, held_by)
        for entry in held.early:
            entry.begin()
        held.until = held_by.hold_off(now, _steady_pause(held_by.count))
        return 0.0

    def early_failed(self, held: Held, now: float) -> None:
        """The attempt was wrong when it was checked early, or was given up meanwhile."""
        for entry in held.early:
            entry.end()
        if len(held.early) == 1:
            self._of_welcome.make(held.key[:1], now).count += 1
        held.early = ()
        self._hold_off_welcome(held, now)

    def failed(self, held: Held, now: float) -> None:
        """The attempt that had its turn was wrong, or was given up."""
        for entry in self._entries(held.key, now):
            entry.end()
            entry.count = max(1, entry.count)
            entry.last = now
        self._hold_off(held, now)
        own = self._welcome.get(held.key)
        if own is not None and not held.had_early:
            own.count += 1
            self._of_welcome.make(held.key[:1], now).count += 1
            self._hold_off_welcome(held, now)

    def succeeded(self, held: Held, now: float) -> None:
        """The attempt was right, in its turn or early. Logins take no attempts from those that wait."""
        key = held.key
        for entry in held.early:
            entry.take_back(held.until)
        if held.has_turn:
            for table, each in ((self._users, key), (self._addresses, key[:1])):
                found = table.get(each, now)
                if found is not None:
                    found.take_back(held.until if table is self._addresses else found.free_at)
                    if not found.count:
                        table.forget(each)
        held.early = ()
        if key not in self._welcome:
            self._welcome[key] = _Failures(now)
        self._welcome.move_to_end(key)
        if len(self._welcome) > ENTRIES_MAX:
            self._welcome.popitem(last=False)

    def _entries(self, key: tuple[str, str], now: float) -> tuple[_Failures, _Failures]:
        return self._users.make(key, now), self._addresses.make(key[:1], now)

    def _hold_off(self, held: Held, now: float) -> None:
        """Keep the next attempts waiting for what is known of their user and address."""
        own, of_address = self._entries(held.key, now)
        own.hold_off(now, _growing_pause(own.count))
        held.until = of_address.hold_off(now, _steady_pause(of_address.count))

    def _hold_off_welcome(self, held: Held, now: float) -> None:
        """Keep early checks waiting for what is known of their address."""
        of_address = self._of_welcome.make(held.key[:1], now)
        of_address.hold_off(now, _steady_pause(of_address.count))
        of_address.last = now
        own = self._welcome.get(held.key)
        if own is not None:
            own.last = now


def _growing_pause(failures: int) -> float:
    return min(LONGEST_SECONDS, FIRST_SECONDS * (1 << min(failures - 1, 10)))


def _steady_pause(failures: int) -> float:
    return STEADY_SECONDS if failures >= STEADY_FREE else 0.0
