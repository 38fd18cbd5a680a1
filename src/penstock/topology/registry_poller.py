"""The requests of a node to the registry and their timing: a core without I/O.

    register → poll → poll → …   404: register again      409: another node has this id; register again, later
    Every poll_interval; sooner while a node below ROOT has no parent, so that a hierarchy comes up in any order.
    After a failure: 1 s, 2 s, 4 s, … up to the interval, each by up to a half shorter, so that many nodes do not come
    back at the same moment.

`question` is the request to send now; the driver reports its outcome and gets the pause before the next one. The last
topology holds whatever happens to the registry.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus

from penstock.model.role import Role
from penstock.topology.model import Topology

FIRST_PAUSE_MS = 1_000
ORPHAN_INTERVAL_MS = 2_000
EARLY = 0.15
"""Polls come by up to this part of the interval sooner than needed, and never later."""


class RegistryState(StrEnum):
    UNASKED = "not asked yet"
    REGISTERED = "registered"
    UNREACHABLE = "unreachable"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Register:
    """POST the registration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Poll:
    """GET the topology; `etag` is that of the last answer."""

    etag: str | None


Question = Register | Poll


class RegistryPoller:
    """`chance` gives numbers from 0 to 1. `problem` says, while there is one, why the registry does not answer."""

    def __init__(self, *, poll_interval_ms: int, chance: Callable[[], float], topology: Topology | None = None) -> None:
        self.topology = topology
        self.state = RegistryState.UNASKED
        self.problem: str | None = None
        self.polls = self.failures = self.changes = 0
        self._interval_ms = poll_interval_ms
        self._chance = chance
        self._etag: str | None = None
        self._registered = False
        self._failures_in_a_row = 0

    @property
    def question(self) -> Question:
        return Poll(etag=self._etag) if self._registered else Register()

    def answered(self, topology: Topology | None, etag: str | None) -> float:
        """Take an answer; None: unchanged (304). Returns the milliseconds until the next request."""
        self.polls += 1
        self.state, self.problem = RegistryState.REGISTERED, None
        self._registered = True
        self._failures_in_a_row = 0
        if topology is not None:
            self._etag = etag
            self.changes += topology != self.topology
            self.topology = topology
        interval_ms = self._interval_ms
        topology = self.topology
        if topology is not None and topology.parent_url is None and topology.role is not Role.ROOT:
            interval_ms = min(interval_ms, ORPHAN_INTERVAL_MS)
        return interval_ms * (1 - EARLY * self._chance())

    def refused(self, status: int, detail: str) -> float:
        """Take an error status.

        A 404 to a poll is not an error: the registry has forgotten this node, which registers at once.
        """
        if self._registered and status == HTTPStatus.NOT_FOUND:
            self._registered, self._etag = False, None
            return 0.0
        if status in (HTTPStatus.CONFLICT, HTTPStatus.UNPROCESSABLE_ENTITY):
            self._registered = False
        return self._failed(RegistryState.REFUSED, detail)

    def unreachable(self, reason: str) -> float:
        return self._failed(RegistryState.UNREACHABLE, reason)

    def _failed(self, state: RegistryState, reason: str) -> float:
        self.failures += 1
        self.state, self.problem = state, reason
        pause_ms = min(self._interval_ms, FIRST_PAUSE_MS << min(self._failures_in_a_row, 20))
        self._failures_in_a_row += 1
        return pause_ms * (1 - self._chance() / 2)
