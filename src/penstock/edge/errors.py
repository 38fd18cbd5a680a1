"""What can go wrong with the application's data. Every message says what it is and what to do."""

from __future__ import annotations


class EdgeError(Exception):
    """The base of all of them."""


class Unstorable(EdgeError):
    """Messages cannot be taken now: the disk is full, a flush failed, the log is damaged. None was acknowledged."""


class Diverged(Unstorable):
    """The broker sent another message under an offset that is stored already: its topic is not the one it was."""


class NotIndexed(EdgeError):
    """The index is being built; what needs it has to wait."""

    def __init__(self, covered: int, end: int) -> None:
        super().__init__(f"the index covers {covered} of {end} messages; ask again shortly, or read by offset")
        self.covered, self.end = covered, end


class Replaced(EdgeError):
    """The data were refreshed since."""
