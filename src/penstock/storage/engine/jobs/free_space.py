"""Free space, looked at once a second: produce is refused before the disk is full, and taken again when it is not.

    free + reserve    ≥ min_free_bytes   everything goes on
                      < min_free_bytes   produce is refused with KAFKA_STORAGE_ERROR; fetch goes on, and so do the
                                         broker's own records, DeleteRecords and topic deletion
    free              < a quarter of the reserve: the reserve file is removed, so that those still have space even if
                                         something else on the disk took the rest

The reserve is a file that really occupies its bytes. It is made again when there is space for it. Space comes and goes
around the limit: taking writes again needs a little more than refusing them.
"""

from __future__ import annotations

import logging

from penstock.config.settings import StorageSettings
from penstock.storage.admission.write_gate import WriteGate
from penstock.storage.data_directory import DataDirectory
from penstock.storage.engine.jobs.job import Job, MaintenanceHost

logger = logging.getLogger(__name__)

_SLACK_BYTES_MAX = 16 << 20


class FreeSpace(Job):
    """Opens and closes the write gate of the engine. `free_bytes` is as of the last look."""

    def __init__(self, host: MaintenanceHost, data: DataDirectory, gate: WriteGate, settings: StorageSettings) -> None:
        self._host = host
        self._data = data
        self._gate = gate
        self._interval_ms = settings.disk_check_interval_ms
        self._min_free_bytes = settings.min_free_bytes
        self._reserve_bytes = min(settings.reserve_bytes, settings.min_free_bytes)
        self._slack_bytes = min(_SLACK_BYTES_MAX, settings.min_free_bytes // 10)
        self._looked_ms = 0
        self._has_reserve = False
        self._is_allocating = False
        self.free_bytes = 0

    def start(self, now_ms: int, *, in_thread: bool) -> None:
        """Take over the reserve that is there, and look for the first time."""
        files = self._host.files
        if files.exists(self._data.reserve):
            if files.file_size(self._data.reserve) == self._reserve_bytes > 0:
                self._has_reserve = True
            else:
                files.remove(self._data.reserve)  # the setting was changed, or it was cut short
        self.look()

    def tick(self, now_ms: int) -> None:
        if now_ms - self._looked_ms >= self._interval_ms:
            self._looked_ms = now_ms
            self.look()

    def look(self) -> None:
        """Measure, and do what follows."""
        try:
            self.free_bytes = self._host.files.free_bytes(self._data.root)
        except OSError as error:
            logger.warning("free space of %s: %s", self._data.root, error)
            return
        if self._has_reserve and self.free_bytes < self._reserve_bytes // 4:
            self._release()
        self._move_gate(self.free_bytes + (self._reserve_bytes if self._has_reserve else 0))
        if not self._has_reserve and self._gate.accepts_writes:
            self._allocate()

    def _move_gate(self, available: int) -> None:
        if self._gate.accepts_writes:
            if available < self._min_free_bytes:
                self._gate.accepts_writes = False
                logger.error(
                    "%d MiB free on the disk of %s, less than min_free_bytes (%d MiB): produce is refused until there"
                    " is room", available >> 20, self._data.root, self._min_free_bytes >> 20,
                )  # fmt: skip
        elif available >= self._min_free_bytes + self._slack_bytes:
            self._gate.accepts_writes = True
            logger.warning("%d MiB free on the disk of %s: produce is accepted again", available >> 20, self._data.root)

    def _release(self) -> None:
        self._has_reserve = False
        try:
            self._host.files.remove(self._data.reserve)
            self.free_bytes = self._host.files.free_bytes(self._data.root)
        except OSError as error:
            logger.warning("the reserve cannot be released: %s", error)

    def _allocate(self) -> None:
        wanted = self._min_free_bytes + self._reserve_bytes + self._slack_bytes
        if self._reserve_bytes == 0 or self._is_allocating or self.free_bytes < wanted:
            return
        self._is_allocating = True
        self._host.run_in_thread(self._allocated, self._host.files.allocate, self._data.reserve, self._reserve_bytes)

    def _allocated(self, error: BaseException | None) -> None:
        self._has_reserve = error is None
        self._is_allocating = False
