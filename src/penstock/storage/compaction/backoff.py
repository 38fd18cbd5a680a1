"""Backoff of logs that could not be compacted: why, and when it is worth another try.

A full disk or too many open files pass; trying again at once would only keep the disk busy. So the pauses grow. The
reasons are shown to the operator (`problems`) until a run succeeds.
"""

from __future__ import annotations

import logging

from penstock.storage.compaction.cleanable import FOREVER
from penstock.storage.log.log import DiskLog

logger = logging.getLogger(__name__)

PAUSE_MS = 10_000
PAUSE_MS_MAX = 10 * 60_000


class CompactionBackoff:
    """Owned by the compaction job. Loop thread; times are those of a clock that does not jump."""

    def __init__(self) -> None:
        self._reasons: dict[DiskLog, str] = {}
        self._pauses: dict[DiskLog, tuple[int, int]] = {}  # the next try, and how long the pause before it is

    @property
    def problems(self) -> dict[str, str]:
        """The reasons for failures, by the name of the log."""
        return {log.name: reason for log, reason in self._reasons.items()}

    def may_try(self, log: DiskLog, now_ms: int) -> bool:
        return log not in self._pauses or now_ms >= self._pauses[log][0]

    def failed(self, log: DiskLog, error: BaseException | None, now_ms: int, *, is_final: bool = False) -> None:
        """Try again later, or, if files are half swapped or bytes are wrong, not before the next start."""
        _, pause_ms = self._pauses.get(log, (0, PAUSE_MS // 2))
        pause_ms = min(pause_ms * 2, PAUSE_MS_MAX)
        self._pauses[log] = (FOREVER, pause_ms) if is_final else (now_ms + pause_ms, pause_ms)
        self._reasons[log] = repr(error)
        when = "until the next start" if is_final else f"for {pause_ms // 1000} s"
        logger.error("%s is not compacted %s: %r", log.name, when, error)

    def no_space(self, log: DiskLog, needed_bytes: int, free_bytes: int) -> None:
        """Looked at again whenever logs are looked at; logged once."""
        reason = f"{needed_bytes >> 20} MiB needed, {max(0, free_bytes) >> 20} MiB free above min_free_bytes"
        if log not in self._reasons:
            logger.warning("%s is not compacted until there is room: %s", log.name, reason)
        self._reasons[log] = reason

    def forget(self, log: DiskLog) -> None:
        """A run succeeded, or the topic is gone."""
        self._reasons.pop(log, None)
        self._pauses.pop(log, None)
