"""Findings of a target, and the watch over one input: time, memory, and errors that were logged as our own."""

from __future__ import annotations

import logging
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

HANG_CPU_SECONDS: Final = 10.0
PEAK_BYTES_MAX: Final = 192 << 20


class Finding(AssertionError):
    """Something that must not happen has happened."""


class Hang(BaseException):
    """One input takes too long. Not an Exception, so that handlers of bad input do not catch it."""


@contextmanager
def watched() -> Iterator[None]:
    """One input: bounded in time and memory.

    Time is CPU time, so that a process which is stopped for a while, or has to wait for a processor, is not taken for
    one that hangs.
    """
    peak_before = _peak_bytes()
    before = signal.signal(signal.SIGPROF, _too_long)
    signal.setitimer(signal.ITIMER_PROF, HANG_CPU_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    grown = _peak_bytes() - peak_before
    if grown > PEAK_BYTES_MAX:
        raise Finding(f"one input took {grown >> 20} MiB of memory")


def _too_long(_signal: int, _frame: FrameType | None) -> None:
    raise Hang(f"no end after {HANG_CPU_SECONDS:.0f} s of CPU time")


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


class ErrorLog(logging.Handler):
    """Collects what the broker logs as an error: to clients it is at most a closed connection, to us it is a bug."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.messages: list[str] = []
        self.setFormatter(logging.Formatter("%(name)s: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(self.format(record))

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Everything below an error is not even formatted meanwhile."""
        loggers = [logging.getLogger(name) for name in ("penstock", "asyncio")]
        before = [(logger.level, logger.propagate) for logger in loggers]
        for logger in loggers:
            logger.setLevel(logging.ERROR)
            logger.propagate = False
            logger.addHandler(self)
        try:
            yield
        finally:
            for logger, (level, propagate) in zip(loggers, before, strict=True):
                logger.removeHandler(self)
                logger.setLevel(level)
                logger.propagate = propagate

    def check(self) -> None:
        if self.messages:
            raise Finding("logged as an error:\n" + "\n".join(self.messages))
