"""Progress of a bulk job on stderr: a bar on a terminal, elsewhere a line every few seconds."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from penstock.cli.terminal.output import console, note
from penstock.model.counted import counted

if TYPE_CHECKING:
    from rich.progress import Progress

LINE_EVERY_S = 5.0


class JobScreen:
    """The `Progress` of a job; with `show=False` it shows only remarks."""

    def __init__(self, title: str, *, show: bool = True) -> None:
        self._title, self._show = title, show
        self._total: int | None = None
        self.rows = 0
        self._started = self._last_line = time.monotonic()
        self._bar: Progress | None = None
        self._task: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()

    def remark(self, text: str) -> None:
        note(text)

    def begin(self, total: int | None, done: int = 0) -> None:
        self._total = total
        self._started = time.monotonic()
        if self._show and sys.stderr.isatty():
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TaskProgressColumn(),
                TextColumn("{task.fields[figures]}"),
                TimeRemainingColumn(),
                console=console(stderr=True),
                transient=True,
            )
            self._bar.start()
            self._task = self._bar.add_task(self._title, total=total, completed=done, figures="")

    def advance(self, rows: int, done: int) -> None:
        self.rows += rows
        now = time.monotonic()
        if self._bar is not None:
            self._bar.update(self._task, completed=done, figures=self._figures())
        elif self._show and now - self._last_line >= LINE_EVERY_S:
            self._last_line = now
            share = f"{100 * done // self._total} %, " if self._total else ""
            note(f"{self._title}: {share}{self._figures()}")

    def _figures(self) -> str:
        return f"{counted(self.rows, 'row')}, {self.rate:,.0f} per second"

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started

    @property
    def rate(self) -> float:
        return self.rows / max(self.seconds, 1e-6)

    def summary(self, noun: str, where: str) -> str:
        """Return a line such as "1,000 rows into prices in 0.10 s (10,000 per second)"."""
        return f"{counted(self.rows, noun)} {where} in {self.seconds:.2f} s ({self.rate:,.0f} per second)"
