"""Flushes that fail: strace answers EIO to the sync of files of one topic, whichever thread it comes from.

The broker syncs few files one by one and many by one syncfs of the data directory, after whose failure it looks for the
guilty file. So syncfs always fails here, and of the single files only those of the topic.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from penstock.storage.layout import LOG
from tests.support.penstock_process import PenstockProcess
from tests.support.strace import Strace
from tests.support.waiting import DeadlinePassed, wait_until

WITHIN_SECONDS: Final = 10.0


def fail_flush(broker: PenstockProcess, topic: str, trace: Path) -> bool:
    """Whether a flush of one of its segments has failed; it may have had no writes. CannotAttach without strace."""
    segments = sorted((broker.data_directory / "topics" / topic).glob(f"*/*/*{LOG}"))
    paths = [option for path in (broker.data_directory, *segments) for option in ("-P", str(path))]
    injections = ("-e", "trace=fdatasync,syncfs", "-e", "inject=syncfs:error=EIO", "-e", "inject=fdatasync:error=EIO")
    with Strace(broker.pid, trace, *paths, *injections) as strace:
        try:
            wait_until(lambda: has_failed(strace.lines()), what=f"a flush of {topic} fails", within_s=WITHIN_SECONDS)
        except DeadlinePassed:
            return False
    return True


def has_failed(lines: list[str]) -> bool:
    return any("fdatasync" in line and line.endswith("(INJECTED)") for line in lines)
