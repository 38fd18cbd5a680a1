"""An authorizer of another package, between the gate and whatever that package does.

Super users may do everything, as with the rules. For all others an exception denies, and so does every answer but True:
a coroutine, for example, would be true.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from itertools import count

from penstock.observability.repeats import Repeats
from penstock.security.authorizer import Authorizer
from penstock.security.resources import Operation, ResourceType
from penstock.security.session import Session

logger = logging.getLogger(__name__)


class GuardedAuthorizer:
    """Implements Authorizer. `call_soon` brings calls of other threads onto the event loop."""

    def __init__(
        self,
        authorizer: Authorizer,
        name: str,
        super_users: Iterable[str],
        call_soon: Callable[[Callable[[], None]], object],
    ) -> None:
        self._authorizer = authorizer
        self._name = name
        self._super_users = frozenset(super_users)
        self._call_soon = call_soon
        self._repeats = Repeats(logger)
        self._new_versions = count(-1, -1)

    @property
    def version(self) -> int:
        try:
            found = self._authorizer.version
            if type(found) is int:
                return found
            self._warn("version", TypeError("version is no whole number"))
        except Exception as error:
            self._warn("version", error)
        return next(self._new_versions)  # so that nothing is remembered

    def subscribe(self, listener: Callable[[], None]) -> None:
        self._authorizer.subscribe(lambda: self._changed(listener))

    def _changed(self, listener: Callable[[], None]) -> None:
        self._call_soon(listener)

    def allows(self, session: Session, operation: Operation, kind: ResourceType, name: str) -> bool:
        if str(session.principal) in self._super_users:
            return True
        try:
            return self._is_yes("allows", self._authorizer.allows(session, operation, kind, name))
        except Exception as error:
            self._warn("allows", error)
            return False

    def allows_any(self, session: Session, operation: Operation, kind: ResourceType) -> bool:
        if str(session.principal) in self._super_users:
            return True
        try:
            return self._is_yes("allows_any", self._authorizer.allows_any(session, operation, kind))
        except Exception as error:
            self._warn("allows_any", error)
            return False

    def _is_yes(self, method: str, answer: object) -> bool:
        if not isinstance(answer, bool):
            self._warn(method, TypeError(f"{type(answer).__name__} is neither True nor False"))
        return answer is True

    def _warn(self, method: str, error: Exception) -> None:
        kind = type(error)
        text = "the authorizer %s failed in %s, which denies: %s: %s"
        self._repeats.warning((method, kind), text, self._name, method, kind.__name__, error)
