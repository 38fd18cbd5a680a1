"""Progress of a running job, for a screen or a log."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    def remark(self, text: str) -> None:
        """Something worth knowing, such as that a topic was made."""

    def begin(self, total: int | None, done: int = 0) -> None:
        """How much there is, in whatever the job counts, and how much of it is done already."""

    def advance(self, rows: int, done: int) -> None:
        """So many rows more, and `done` of the total."""
