"""One node as the registry knows it: its registration, the decisions about it, and how regularly it polls.

`Registration` comes from the node; `Member` is mutable and owned by the `Hierarchy`. Times are those of a clock that
never goes back and are not stored: a registry that starts again counts missed polls from its start.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from penstock.model.role import Role
from penstock.topology.model import Topology

SETTLING_POLLS = 3
"""Polls in a row after which a node that was away is trusted again; the number doubles with every further absence."""
SETTLING_DOUBLINGS_MAX = 5
FORGIVEN_POLLS = 200
"""Polls in a row after which earlier absences are forgotten."""
LATE = 0.25
"""A poll counts as missed when it is late by this part of the interval: polls are not sent to the millisecond."""


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Asker:
    """Who sends a request. `principal` is None where the registry asks for no login.

    `may_replace` is asked only about a node of another principal: whether this one may act for it all the same.
    """

    principal: str | None = None
    may_replace: Callable[[], bool] = _never


ANYBODY: Final = Asker()


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """A node's registration. `instance_id` tells two nodes with the same id apart; None if it was not sent."""

    node_id: str
    instance_id: str | None = None
    role: Role | None = None
    url: str | None = None
    site: str | None = None
    poll_interval_ms: int = 30_000


@dataclass(slots=True, kw_only=True)
class Member:
    node_id: str
    role: Role
    instance_id: str | None = None
    url: str | None = None
    site: str | None = None
    poll_interval_ms: int = 30_000
    parent: str | None = None
    """Id of the parent in force."""
    pinned: str | None = None
    """Id of the parent that was set by hand; `parent` is another one only while that one is away."""
    principal: str | None = None
    """Who registered it: nobody else may poll under its id, or register again. None if there was no login."""
    live: bool = True
    lapses: int = 0
    """Number of absences since they were last forgotten."""
    polls: int = 0
    """Polls in a row since the node came, or came back."""
    last_poll_ms: int = 0
    answer: Topology | None = None
    """The last answer, which has the version."""
    answer_change: int = -1
    """The change above it that `answer` has taken in; -1: it has to be built again."""
    site_parts: tuple[str, ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        self.site_parts = tuple(self.site.split("/")) if self.site else ()

    def take(self, registration: Registration, principal: str | None) -> None:
        """Take a registration, except for its role. A principal is kept where there is no login any more."""
        self.principal = principal or self.principal
        self.instance_id = registration.instance_id
        self.url = registration.url
        self.site = registration.site
        self.poll_interval_ms = registration.poll_interval_ms
        self.__post_init__()

    @property
    def settled(self) -> bool:
        """Whether the node may be given children of other parents: not while it is unstable."""
        if not self.lapses:
            return True
        return self.polls >= SETTLING_POLLS << min(self.lapses - 1, SETTLING_DOUBLINGS_MAX)

    @property
    def can_be_parent(self) -> bool:
        return self.live and self.url is not None

    def missed_polls(self, now_ms: int) -> int:
        return max(0, int((now_ms - self.last_poll_ms) / self.poll_interval_ms - LATE))


def role_by_name(node_id: str) -> Role:
    """The role in the name of a node: local-001 is LOCAL, l2_berlin is L2; a name without a role is LOCAL."""
    first = re.split(r"[-_.]", node_id, maxsplit=1)[0].upper()
    bare = re.sub(r"\d+$", "", first)
    for name in (first, bare):
        if name in Role.__members__:
            return Role[name]
    return Role.LOCAL
