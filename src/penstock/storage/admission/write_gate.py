"""Whether clients may write: closed while the disk, or the memory that records may take, is nearly full.

The broker's own records (offset commits, transactions) pass all the same, from the reserve.
"""

from __future__ import annotations

from typing import Protocol


class Gate(Protocol):
    """A gate for writes of clients. `refusal` is the text of their errors while `accepts_writes` is False."""

    accepts_writes: bool

    @property
    def refusal(self) -> str: ...


class WriteGate:
    """The gate, opened and closed by the watch over free space, and checked by every append. Loop thread."""

    __slots__ = ("accepts_writes", "refusal")

    def __init__(self, refusal: str) -> None:
        self.accepts_writes = True
        self.refusal = refusal
