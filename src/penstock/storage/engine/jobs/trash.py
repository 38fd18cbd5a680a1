"""Emptying the trash when something was put into it."""

from __future__ import annotations

import logging

from penstock.storage.engine.jobs.job import Job, MaintenanceHost
from penstock.storage.engine.trash import Trash

logger = logging.getLogger(__name__)


class EmptyTrash(Job):
    """Job that empties the trash: once at the start, for what a crash left, and after every deletion of a topic."""

    def __init__(self, host: MaintenanceHost, trash: Trash) -> None:
        self._host = host
        self._trash = trash

    def tick(self, now_ms: int) -> None:
        if self._trash.is_full:
            self._trash.is_full = False
            self._host.run_in_thread(_warn, self._trash.empty)


def _warn(error: BaseException | None) -> None:
    if error is not None:
        logger.warning("%s", error)
