"""The health of a node: whether it is live, and whether it is ready for work.

Live means that its event loop answers. Ready means that it has started, is not stopping, and no check objects.
A check returns the reason for which it objects, in words for an operator, or None. A warning is shown, too, but
leaves the node ready: a damaged partition is still readable. A detail is neither: it only describes the node.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

Check = Callable[[], str | None]


class Phase(StrEnum):
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthReport:
    ready: bool
    phase: Phase
    problems: dict[str, str] = field(default_factory=dict)
    warnings: dict[str, str] = field(default_factory=dict)
    details: dict[str, str] = field(default_factory=dict)


class Health:
    """Owned by the node, which moves it from phase to phase; the other parts add checks."""

    def __init__(self) -> None:
        self.phase = Phase.STARTING
        self._problems: dict[str, Check] = {}
        self._warnings: dict[str, Check] = {}
        self._details: dict[str, Check] = {}

    def add_check(self, name: str, check: Check) -> None:
        """Add a check. While it objects, the node is not ready."""
        self._problems[name] = check

    def add_warning(self, name: str, check: Check) -> None:
        self._warnings[name] = check

    def add_detail(self, name: str, describe: Check) -> None:
        """Add a line that describes the node; None leaves it out."""
        self._details[name] = describe

    def report(self) -> HealthReport:
        problems = _texts(self._problems)
        if self.phase is not Phase.RUNNING:
            problems = {"phase": f"the node is {self.phase}", **problems}
        return HealthReport(
            ready=not problems,
            phase=self.phase,
            problems=problems,
            warnings=_texts(self._warnings),
            details=_texts(self._details),
        )


def _texts(checks: dict[str, Check]) -> dict[str, str]:
    return {name: reason for name, check in checks.items() if (reason := check()) is not None}
