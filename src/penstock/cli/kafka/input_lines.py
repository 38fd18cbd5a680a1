"""Input lines of `penstock produce`, from stdin or files, each with its place."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from penstock.cli.terminal.output import console


class Place(NamedTuple):
    file: str
    line: int


class Stop(NamedTuple):
    """The reason why a run stopped before the end of its input."""

    place: Place
    reason: str

    def __str__(self) -> str:
        return f"stopped at line {self.place.line} of {self.place.file}: {self.reason}"


class UnreadableError(Exception):
    def __init__(self, place: Place, cause: OSError) -> None:
        self.stop = Stop(place, f"cannot be read ({(cause.strerror or str(cause)).lower()})")
        super().__init__(str(self.stop))


@contextlib.contextmanager
def read_lines(files: list[Path], progress: bool) -> Iterator[Iterator[tuple[Place, bytes]]]:
    """Yield lines with their places; for files, show a progress bar on a terminal."""
    if not files:
        yield _lines(sys.stdin.buffer, "stdin", lambda _: None)
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    total = sum(path.stat().st_size for path in files)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(),
        console=console(stderr=True),
        disable=not progress or not sys.stderr.isatty(),
        transient=True,
    )
    with bar:
        task = bar.add_task("sending", total=total)

        def read_all() -> Iterator[tuple[Place, bytes]]:
            for path in files:
                with _opened(path) as stream:
                    yield from _lines(stream, str(path), lambda size: bar.advance(task, size))

        yield read_all()


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise UnreadableError(Place(str(path), 1), error) from error


def _lines(stream: BinaryIO, name: str, advance: Callable[[int], None]) -> Iterator[tuple[Place, bytes]]:
    number = 0
    try:
        for number, line in enumerate(stream, start=1):
            advance(len(line))
            yield Place(name, number), line.removesuffix(b"\n").removesuffix(b"\r")
    except OSError as error:
        raise UnreadableError(Place(name, number + 1), error) from error
