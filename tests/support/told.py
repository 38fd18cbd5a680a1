"""A `Progress` of bulk jobs that records its calls."""

from __future__ import annotations


class Told:
    def __init__(self) -> None:
        self.remarks: list[str] = []
        self.rows = 0
        self.total: int | None = None

    def remark(self, text: str) -> None:
        self.remarks.append(text)

    def begin(self, total: int | None, done: int = 0) -> None:
        self.total = total

    def advance(self, rows: int, done: int) -> None:
        self.rows += rows
