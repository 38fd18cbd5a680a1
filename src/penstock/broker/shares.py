"""The share of one principal in bounds of the node: transactional ids, groups, push subscriptions, push producers.

Each of them is bounded in all, so that a client that may make some could make them all, and leave nothing to others. So
a principal has at most half of each. Whoever may alter the cluster is trusted with the rest, which includes every
client of a node without rules; so are clients without a name (ANONYMOUS).

What counts is remembered since the start: things that were loaded from the disk belong to nobody. Nobody tells when
one is removed: names that do not exist any more are dropped when there are twice as many as there were, and when the
share is used up.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Final

from penstock.model.errors import KafkaError
from penstock.security.access import Access
from penstock.security.principal import ANONYMOUS, Principal
from penstock.security.resources import Operation
from penstock.security.session import Session

PARTS: Final = 2
"""A principal may have one of so many parts of a bound."""
SEARCH_SECONDS: Final = 1.0
"""Time between two searches for removed names of a principal that has used up its share."""
SEARCH_NAMES_MIN: Final = 64
_NOTHING: Final = nullcontext()


def share_of(most: int) -> int:
    """How many of `most` one principal may have."""
    return max(1, most // PARTS)


def is_bounded(access: Access, session: Session) -> bool:
    """Whether the session has a share, and not everything."""
    return session.principal != ANONYMOUS and not access.shows_cluster(session, Operation.ALTER)


class Share:
    """The share of each principal in one bound."""

    def __init__(
        self,
        access: Access,
        most: int,
        exists: Callable[[str], bool],
        refusal: Callable[[int], KafkaError],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._access = access
        self._most = share_of(most)
        self._is_known = exists
        self._refusal = refusal
        self._clock = clock
        self._owners: dict[Principal, _Owned] = {}

    def taken(self, session: Session, name: str) -> AbstractContextManager[None]:
        """Count a name while it is made, and afterwards if it was.

        KafkaError if the session's principal has its share already, and the name does not exist.
        """
        return _Taken(self, session, name) if self._take(session, name) else _NOTHING

    def _take(self, session: Session, name: str) -> bool:
        """Whether the name is counted now."""
        if session.principal == ANONYMOUS or self._exists(name) or not is_bounded(self._access, session):
            return False
        owned = self._owners.setdefault(session.principal, _Owned())
        if name in owned.names:
            return False  # another request is about to make it
        if len(owned.names) >= self._most and self._clock() - owned.searched >= SEARCH_SECONDS:
            self._search(owned)
        if len(owned.names) >= self._most:
            raise self._refusal(self._most)
        owned.names.add(name)
        return True

    def settle(self, session: Session, name: str) -> None:
        """Keep a name that exists now, and forget one that was not made."""
        owned = self._owners[session.principal]
        if not self._exists(name):
            owned.names.discard(name)
        elif len(owned.names) >= owned.search_at:
            self._search(owned)

    def _exists(self, name: str) -> bool:
        try:
            return self._is_known(name)
        except KafkaError:  # it is loaded, or has failed: whoever makes it is told so
            return True

    def _search(self, owned: _Owned) -> None:
        """Drop names that do not exist any more."""
        owned.names = {name for name in owned.names if self._exists(name)}
        owned.search_at = max(2 * len(owned.names), SEARCH_NAMES_MIN)
        owned.searched = self._clock()


class _Taken:
    """A name that is being made."""

    __slots__ = ("_name", "_session", "_share")

    def __init__(self, share: Share, session: Session, name: str) -> None:
        self._share = share
        self._session = session
        self._name = name

    def __enter__(self) -> None:
        pass

    def __exit__(self, *failure: object) -> None:
        self._share.settle(self._session, self._name)


class _Owned:
    """The names of one principal."""

    __slots__ = ("names", "search_at", "searched")

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.search_at = SEARCH_NAMES_MIN
        self.searched = float("-inf")
