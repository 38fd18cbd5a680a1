"""Places, or bytes, that those who ask share: nobody takes more than is left for the others.

One alone has half of all at most, two have a third each, and so on: whoever comes next finds room, however greedy the
others are. Where everybody is the same, at a port without logins, there is nobody to share with.
"""

from __future__ import annotations

from collections.abc import Hashable


class Shares:
    """Of `total`. Loop thread."""

    def __init__(self, total: int) -> None:
        self._total = total
        self.taken = 0
        self._taken_by: dict[Hashable, int] = {}

    def take(self, who: Hashable | None, amount: int = 1) -> bool:
        """Take so much, or nothing if there is not enough. None does not share."""
        left = self._total - self.taken
        if amount > left:
            return False
        if who is not None:
            own = self._taken_by.get(who, 0) + amount
            if own > left:
                return False
            self._taken_by[who] = own
        self.taken += amount
        return True

    def give_back(self, who: Hashable | None, amount: int = 1) -> None:
        self.taken -= amount
        if who is not None:
            self._taken_by[who] -= amount
            if not self._taken_by[who]:
                del self._taken_by[who]  # those who have gone are forgotten
