"""Errors of the application's data. Every message says what is wrong and what to do."""

from __future__ import annotations


class EdgeError(Exception):
    """Base class of these errors."""


class Unstorable(EdgeError):
    """Messages cannot be taken now: the disk is full, a flush failed, the log is damaged. None was acknowledged."""


class Diverged(Unstorable):
    """The broker sent another message under an offset that is stored already: its topic is not the one it was."""


class NotIndexed(EdgeError):
    """The index is being built; a query that needs it has to wait."""

    def __init__(self, covered: int, end: int) -> None:
        super().__init__(f"the index covers {covered} of {end} messages; ask again shortly, or read by offset")
        self.covered, self.end = covered, end


class Replaced(EdgeError):
    """The data was refreshed since the cursor was given out."""
