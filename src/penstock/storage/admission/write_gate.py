"""Whether clients may write: closed while the disk, or the memory that records may take, is nearly full.

The broker's own records (offset commits, transactions) pass all the same, from the reserve.
"""

from __future__ import annotations

from typing import Protocol


class Gate(Protocol):
    """`refusal` is what clients are told while `accepts_writes` is False."""

    accepts_writes: bool

    @property
    def refusal(self) -> str: ...


class WriteGate:
    """Opened and closed by the watch over free space, looked at by every append. Loop thread."""

    __slots__ = ("accepts_writes", "refusal")

    def __init__(self, refusal: str) -> None:
        self.accepts_writes = True
        self.refusal = refusal
