"""The audit log: who was refused what, who logged in, who changed users and rules.

    {"time": "…", "level": "INFO", "module": "penstock.audit", "message": "denied", "principal": "User:alice",
     "host": "10.0.0.7", "listener": "SASL_SSL", "client_id": "app", "operation": "WRITE", "resource_type": "TOPIC",
     "resource": "orders"}

Lines are always JSON, whatever `logging.format` says (`observability.logs`), and `logging.level` does not hide them.
Clients cause them, so their rate is bounded, but for changes: for each event in all and for each principal, so that one
client in a retry loop does not hide the others. Whoever fails to log in is nobody yet: there the address counts, and
the name that is given at it. A line says how many before it were left out (`left_out`). What clients choose is cut, so
that the length of lines is as bounded as their number.
"""

from __future__ import annotations

import logging
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from penstock.model.limits import USER_NAME_BYTES_MAX
from penstock.model.text.address import source_of
from penstock.security.resources import Operation, ResourceType
from penstock.security.session import Session

AUDIT_LOGGER: Final = "penstock.audit"

LINES_PER_SECOND: Final = 100.0
LINES_PER_SECOND_OF_PRINCIPAL: Final = 10.0
LINES_PER_SECOND_OF_ADDRESS: Final = 25.0
BURST_SECONDS: Final = 5.0
CHARACTERS_MAX: Final = 200
"""Of a client id, a name or another field; in JSON a control character takes six bytes."""
RATES_MAX: Final = 2_000
"""Rates that are remembered; beyond that, the one that was used longest ago is forgotten."""

CHANGES_OF_FILE_MAX: Final = 200
"""Lines for one change of a file, which may have 100,000 rules."""

DENIED, ALLOWED, LOGIN, LOGIN_FAILED, CHANGED = "denied", "allowed", "login", "login failed", "changed"

CERTIFICATE: Final = "certificate"
"""The mechanism of clients that are known by their certificates."""

Change = tuple[str, str]
"""An act, such as "create acl", and what it was done to."""

_RateKey = tuple[str, ...]
_Bound = tuple[_RateKey, float]
"""The key of a rate, and its lines a second."""


class Audit:
    """One for a node. Any number of parts write to it; only the event loop's thread does."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.counts: Counter[str] = Counter()
        """Events of each kind, with those that were not logged. Allowed ones are counted only while they are logged."""
        self._clock = clock
        self._logger = logging.getLogger(AUDIT_LOGGER)
        self._rates: OrderedDict[_RateKey, _Rate] = OrderedDict()
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
        source = source_of(session.host)
        bounds = (
            ((LOGIN_FAILED, source, user[:USER_NAME_BYTES_MAX]), LINES_PER_SECOND_OF_PRINCIPAL),
            ((LOGIN_FAILED, source), LINES_PER_SECOND_OF_ADDRESS),
        )
        fields = {"mechanism": mechanism, "user": user, "reason": reason}
        self._write_within(bounds, self._logger.warning, LOGIN_FAILED, session, fields)

    def certificate_refused(self, listener: str, host: str, reason: str) -> None:
        """A client that did not get through its handshake, because of its certificate or for want of one."""
        self.login_failed(Session(listener, host), CERTIFICATE, "", reason)

    def changed(self, session: Session, act: str, what: str) -> None:
        """A change of users or rules, such as "create acl" of a rule's text. Never holds a secret.

        It is always written: a right to change them is needed, and each change has been stored.
        """
        self._write_within((), self._logger.info, CHANGED, session, {"act": act, "what": what})

    def changed_by_file(self, path: str, changes: Sequence[Change]) -> None:
        """What a file that decides who may do what has brought and taken: the first changes, and how many there are."""
        session = Session("file", path)
        for act, what in changes[:CHANGES_OF_FILE_MAX]:
            self.changed(session, act, what)
        if len(changes) > CHANGES_OF_FILE_MAX:
            self.changed(session, "and more", f"{len(changes)} changes in all")

    def _write(self, write: Callable[..., None], event: str, session: Session, **fields: str) -> None:
        bounds = (((event, str(session.principal)), LINES_PER_SECOND_OF_PRINCIPAL),)
        self._write_within(bounds, write, event, session, fields)

    def _write_within(
        self,
        bounds: tuple[_Bound, ...],
        write: Callable[..., None],
        event: str,
        session: Session,
        fields: Mapping[str, str],
    ) -> None:
        """Write a line if there is room in all bounds and among the lines of its kind; always if it has no bounds."""
        self.counts[event] += 1
        if bounds and not self._has_room((*bounds, ((event,), LINES_PER_SECOND))):
            self._left_out[event] += 1
            return
        extra: dict[str, object] = {
            "principal": str(session.principal),
            "host": session.host,
            "listener": session.listener,
            "client_id": _cut(session.client_id),
            **{name: _cut(value) for name, value in fields.items()},
        }
        left_out = self._left_out.pop(event, 0)
        if left_out:
            extra["left_out"] = left_out
        write(event, extra=extra)

    def _has_room(self, bounds: tuple[_Bound, ...]) -> bool:
        """Take a line of all rates, or of none: what one of them refuses does not use the others up."""
        now = self._clock()
        rates = [self._rate(key, per_second, now) for key, per_second in bounds]
        if not all(rate.has_room(now) for rate in rates):
            return False
        for rate in rates:
            rate.take()
        return True

    def _rate(self, key: _RateKey, per_second: float, now: float) -> _Rate:
        rate = self._rates.get(key)
        if rate is None:
            if len(self._rates) >= RATES_MAX:
                self._rates.popitem(last=False)
            rate = self._rates[key] = _Rate(per_second, now)
        self._rates.move_to_end(key)
        return rate


def _cut(text: str | None) -> str | None:
    if text is None or len(text) <= CHARACTERS_MAX:
        return text
    return f"{text[:CHARACTERS_MAX]}… ({len(text)} characters)"


class _Rate:
    """A token bucket, full at first."""

    __slots__ = ("_at", "_per_second", "_tokens")

    def __init__(self, per_second: float, now: float) -> None:
        self._per_second = per_second
        self._tokens = per_second * BURST_SECONDS
        self._at = now

    def has_room(self, now: float) -> bool:
        most = self._per_second * BURST_SECONDS
        self._tokens = min(most, self._tokens + (now - self._at) * self._per_second)
        self._at = now
        return self._tokens >= 1

    def take(self) -> None:
        self._tokens -= 1
