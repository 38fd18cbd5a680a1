"""The audit log: who was refused what, who logged in, who changed users and rules.

    {"time": "…", "level": "INFO", "module": "penstock.audit", "message": "denied", "principal": "User:alice",
     "host": "10.0.0.7", "listener": "SASL_SSL", "client_id": "app", "operation": "WRITE", "resource_type": "TOPIC",
     "resource": "orders"}

Lines are always JSON, whatever `logging.format` says (`observability.logs`), and `logging.level` does not hide them.
Clients cause them, so their rate is bounded: for each event in all and for each principal, so that one client in a
retry loop does not hide the others. A line says how many before it were left out (`left_out`).
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable
from typing import Final

from penstock.security.resources import Operation, ResourceType
from penstock.security.session import Session

AUDIT_LOGGER: Final = "penstock.audit"

LINES_PER_SECOND: Final = 100.0
LINES_PER_SECOND_OF_PRINCIPAL: Final = 10.0
BURST_SECONDS: Final = 5.0
PRINCIPALS_MAX: Final = 1_000
"""Principals whose rates are remembered; when there are more, all are forgotten. The rate in all still holds."""

DENIED, ALLOWED, LOGIN, LOGIN_FAILED, CHANGED = "denied", "allowed", "login", "login failed", "changed"


class Audit:
    """One for a node. Any number of parts write to it; only the event loop's thread does."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.counts: Counter[str] = Counter()
        """Events of each kind, with those that were not logged. Allowed ones are counted only while they are logged."""
        self._clock = clock
        self._logger = logging.getLogger(AUDIT_LOGGER)
        self._rates: dict[str, _Rate] = {}
        self._principals: dict[tuple[str, str], _Rate] = {}
        self._left_out: Counter[str] = Counter()

    @property
    def logs_allowed(self) -> bool:
        """Whether decisions in a client's favour are logged, too. They cost a line each, so it is asked once."""
        return self._logger.isEnabledFor(logging.DEBUG)

    def denied(self, session: Session, operation: Operation, kind: ResourceType, name: str) -> None:
        self._write(
            self._logger.info, DENIED, session, operation=operation.name, resource_type=kind.name, resource=name
        )

    def allowed(self, session: Session, operation: Operation, kind: ResourceType, name: str) -> None:
        self._write(
            self._logger.debug, ALLOWED, session, operation=operation.name, resource_type=kind.name, resource=name
        )

    def logged_in(self, session: Session, mechanism: str) -> None:
        self._write(self._logger.info, LOGIN, session, mechanism=mechanism)

    def login_failed(self, session: Session, mechanism: str, user: str, reason: str) -> None:
        """A login that was refused; `user` is the name that the client gave, never its password."""
        self._write(self._logger.warning, LOGIN_FAILED, session, mechanism=mechanism, user=user, reason=reason)

    def changed(self, session: Session, act: str, what: str) -> None:
        """A change of users or rules, such as "create acl" of a rule's text. Never holds a secret."""
        self._write(self._logger.info, CHANGED, session, act=act, what=what)

    def _write(self, write: Callable[..., None], event: str, session: Session, **fields: str) -> None:
        self.counts[event] += 1
        principal = str(session.principal)
        if not self._has_room(event, principal):
            self._left_out[event] += 1
            return
        extra: dict[str, object] = {
            "principal": principal,
            "host": session.host,
            "listener": session.listener,
            "client_id": session.client_id,
            **fields,
        }
        left_out = self._left_out.pop(event, 0)
        if left_out:
            extra["left_out"] = left_out
        write(event, extra=extra)

    def _has_room(self, event: str, principal: str) -> bool:
        now = self._clock()
        own = self._principals.get((event, principal))
        if own is None:
            if len(self._principals) >= PRINCIPALS_MAX:
                self._principals.clear()
            own = self._principals[event, principal] = _Rate(LINES_PER_SECOND_OF_PRINCIPAL, now)
        total = self._rates.get(event)
        if total is None:
            total = self._rates[event] = _Rate(LINES_PER_SECOND, now)
        return own.take(now) and total.take(now)


class _Rate:
    """A token bucket, full at first."""

    __slots__ = ("_at", "_per_second", "_tokens")

    def __init__(self, per_second: float, now: float) -> None:
        self._per_second = per_second
        self._tokens = per_second * BURST_SECONDS
        self._at = now

    def take(self, now: float) -> bool:
        most = self._per_second * BURST_SECONDS
        self._tokens = min(most, self._tokens + (now - self._at) * self._per_second)
        self._at = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True
