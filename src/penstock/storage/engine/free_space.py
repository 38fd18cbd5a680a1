"""Free space, looked at once a second: produce is refused before the disk is full, and taken again when it is not.

    free + reserve    ≥ min_free_bytes   everything goes on
                      < min_free_bytes   produce is refused with KAFKA_STORAGE_ERROR; fetch goes on, and so do the
                                         broker's own records, DeleteRecords and topic deletion
    free              < a quarter of the reserve: the reserve file is removed, so that those still have room even if
                                         something else on the disk took the rest

The reserve is a file that really occupies its bytes. It is made again when there is room for it. Space comes and goes
around the limit: taking writes again needs a little more than refusing them.
"""

from __future__ import annotations

import logging

from penstock.runtime.files import Files
from penstock.runtime.worker import Worker
from penstock.storage.admission.write_gate import WriteGate
from penstock.storage.data_directory import DataDirectory

_log = logging.getLogger(__name__)

_SLACK_BYTES_MAX = 16 << 20


class FreeSpace:
    """Opens and closes the write gate of the engine. Loop thread."""

    def __init__(
        self,
        files: Files,
        data: DataDirectory,
        gate: WriteGate,
        disk_thread: Worker,
        *,
        min_free_bytes: int,
        reserve_bytes: int,
    ) -> None:
        self._files = files
        self._data = data
        self._gate = gate
        self._disk_thread = disk_thread
        self._min_free_bytes = min_free_bytes
        self._reserve_bytes = min(reserve_bytes, min_free_bytes)
        self._slack_bytes = min(_SLACK_BYTES_MAX, min_free_bytes // 10)
        self._has_reserve = False
        self._is_allocating = False
        self.free_bytes = 0

    def start(self) -> None:
        """Take over the reserve that is there, and look for the first time."""
        if self._files.exists(self._data.reserve):
            if self._files.file_size(self._data.reserve) == self._reserve_bytes > 0:
                self._has_reserve = True
            else:
                self._files.remove(self._data.reserve)  # the setting was changed, or it was cut short
        self.look()

    def look(self) -> None:
        try:
            self.free_bytes = self._files.free_bytes(self._data.root)
        except OSError as error:
            _log.warning("free space of %s: %s", self._data.root, error)
            return
        if self._has_reserve and self.free_bytes < self._reserve_bytes // 4:
            self._release()
        room = self.free_bytes + (self._reserve_bytes if self._has_reserve else 0)
        if self._gate.accepts_writes:
            if room < self._min_free_bytes:
                self._gate.accepts_writes = False
                _log.error(
                    "%d MiB free on the disk of %s, less than min_free_bytes (%d MiB): produce is refused until there"
                    " is room", room >> 20, self._data.root, self._min_free_bytes >> 20,
                )  # fmt: skip
        elif room >= self._min_free_bytes + self._slack_bytes:
            self._gate.accepts_writes = True
            _log.warning("%d MiB free on the disk of %s: produce is accepted again", room >> 20, self._data.root)
        if not self._has_reserve and self._gate.accepts_writes:
            self._allocate()

    def _release(self) -> None:
        self._has_reserve = False
        try:
            self._files.remove(self._data.reserve)
            self.free_bytes = self._files.free_bytes(self._data.root)
        except OSError as error:
            _log.warning("the reserve cannot be released: %s", error)

    def _allocate(self) -> None:
        wanted = self._min_free_bytes + self._reserve_bytes + self._slack_bytes
        if self._reserve_bytes == 0 or self._is_allocating or self.free_bytes < wanted:
            return
        self._is_allocating = True

        def done(_: object, error: BaseException | None) -> None:
            # Plain assignments, read by the next look: no need to come onto the loop for them.
            self._has_reserve = error is None
            self._is_allocating = False

        self._disk_thread.submit(done, self._files.allocate, self._data.reserve, self._reserve_bytes)
