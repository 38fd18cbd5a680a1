"""Progress of a running job, for a screen or a log."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    def remark(self, text: str) -> None:
        """Show a remark, such as that a topic was created."""

    def begin(self, total: int | None, done: int = 0) -> None:
        """Set the total, in the units of the job, and the part that is done already."""

    def advance(self, rows: int, done: int) -> None:
        """Count further rows; `done` of the total are done."""
