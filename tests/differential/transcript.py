"""The transcript of a script: its steps in order, each with the request and the answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One line of a transcript."""

    api: str
    version: int
    label: str
    request: Any
    answer: Any

    @property
    def title(self) -> str:
        named = f"{self.api} v{self.version}" if self.version >= 0 else self.api
        return f"{named}: {self.label}" if self.label else named


@dataclass(slots=True, kw_only=True)
class Transcript:
    script: str
    steps: list[Step] = field(default_factory=list)
    times: dict[int, str] = field(default_factory=dict)  # timestamps that the script made, and their names
    problem: str | None = None  # why the script itself could not go on
    seconds: float = 0.0
