"""The names of the files of one log, in one place.

    <20 digits>.log                segment, named by its base offset
    <20 digits>.index              sparse offset index    } derived: missing or bad ones are rebuilt
    <20 digits>.timeindex          sparse time index      }
    <20 digits>.txnindex           aborted transactions   }
    <20 digits>.snapshot           recovery point, producers, epochs; named by the log end it describes
    <20 digits>-<position>.cut     bytes of a torn tail, kept for people
    <20 digits>-<position>.damaged bytes that `repair` moved aside
    flush-failed                   a sync failed: rewrite the tail before serving it
    holes                          compaction or repair took batches out of this log: offsets may be missing
    <20 digits>.cleaned            compaction's output while it is written; worthless after a crash
    <20 digits>-<20 digits>.swap   compaction's finished output: replaces every segment with
                                   first <= base offset < second; see `unfinished_swap`
    <name>.tmp                     half of a durable write; worthless

Names only: `segment`, `snapshot`, `recovery` and `compaction` say who writes and reads them.
"""

from __future__ import annotations

from pathlib import Path

LOG = ".log"
INDEX = ".index"
TIME_INDEX = ".timeindex"
ABORTED_INDEX = ".txnindex"
SNAPSHOT = ".snapshot"
CUT = ".cut"
DAMAGED = ".damaged"
CLEANED = ".cleaned"
SWAP = ".swap"
TEMPORARY = ".tmp"
FLUSH_FAILED = "flush-failed"
HOLES = "holes"

DIGITS = 20


def log_path(directory: Path, base_offset: int) -> Path:
    return directory / f"{base_offset:020d}.log"


def index_path(directory: Path, base_offset: int) -> Path:
    return directory / f"{base_offset:020d}.index"


def time_index_path(directory: Path, base_offset: int) -> Path:
    return directory / f"{base_offset:020d}.timeindex"


def aborted_index_path(directory: Path, base_offset: int) -> Path:
    return directory / f"{base_offset:020d}.txnindex"


def derived_paths(directory: Path, base_offset: int) -> tuple[Path, ...]:
    """The derived files of a segment; some of them may never have been written."""
    return (
        index_path(directory, base_offset),
        time_index_path(directory, base_offset),
        aborted_index_path(directory, base_offset),
    )


def snapshot_path(directory: Path, log_end: int) -> Path:
    return directory / f"{log_end:020d}.snapshot"


def cleaned_path(directory: Path, base_offset: int) -> Path:
    return directory / f"{base_offset:020d}.cleaned"


def swap_path(directory: Path, base_offset: int, end_offset: int) -> Path:
    return directory / f"{base_offset:020d}-{end_offset:020d}.swap"


def cut_path(directory: Path, base_offset: int, position: int) -> Path:
    return directory / f"{base_offset:020d}-{position}{CUT}"


def damaged_path(directory: Path, base_offset: int, position: int) -> Path:
    return directory / f"{base_offset:020d}-{position}{DAMAGED}"


def offset_of(name: str, suffix: str) -> int | None:
    """The offset in `<20 digits><suffix>`, None for any other name."""
    if len(name) == DIGITS + len(suffix) and name.endswith(suffix) and name[:DIGITS].isdecimal():
        return int(name[:DIGITS])
    return None


def swap_range(name: str) -> tuple[int, int] | None:
    """The offsets in `<20 digits>-<20 digits>.swap`, None for any other name."""
    first, dash, second = name.removesuffix(SWAP).partition("-")
    if not name.endswith(SWAP) or not dash or not (first.isdecimal() and second.isdecimal()):
        return None
    return int(first), int(second)
