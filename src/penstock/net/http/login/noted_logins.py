"""Clients whose logins the audit log has had a moment ago: each request is a login, and one line is enough."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from penstock.security.audit import Audit
    from penstock.security.principal import Principal
    from penstock.security.session import Session

KEPT_SECONDS: Final = 60.0
ENTRIES_MAX: Final = 10_000


class NotedLogins:
    """One for a port. `clock` is monotonic, in seconds."""

    def __init__(self, audit: Audit, clock: Callable[[], float]) -> None:
        self.audit = audit
        self._clock = clock
        self._until: dict[tuple[str, str, Principal], float] = {}

    def note(self, session: Session, mechanism: str) -> None:
        key = (mechanism, session.host, session.principal)
        now = self._clock()
        if now < self._until.get(key, 0.0):
            return
        if len(self._until) >= ENTRIES_MAX:
            self._until.clear()
        self._until[key] = now + KEPT_SECONDS
        self.audit.logged_in(session, mechanism)
