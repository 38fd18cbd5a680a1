"""A file that decides who may do what: read at the start, and again when it has changed, whole or not at all.

A file that cannot be used later changes nothing: one error line, a count and a warning in the health report until it
can be used. It is tried again at every look, since what mends it need not change the file itself, as the mode of its
directory.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Final, Generic, TypeVar

from penstock.config.secret_file import SecretFileError
from penstock.node.errors import SettingsError
from penstock.runtime.periodic import Periodic
from penstock.security.acl.policy import PolicyError
from penstock.security.users.document import UsersError

logger = logging.getLogger(__name__)

INTERVAL_MS: Final = 2_000
BYTES_MAX: Final = 64 << 20
ERRORS: Final = (OSError, PolicyError, UsersError, SecretFileError)

Content = TypeVar("Content")
_Stamp = tuple[int, ...] | None
"""Time of the last change, size, inode, mode and owner; None while there is no such file."""


class WatchedFile(Generic[Content]):
    """`read` makes the content of a path, or raises one of ERRORS; `put` puts it in force, on the event loop, and
    is also given the content before it; None at the start.

    `setting` names the file, `title` says what it is, and `kept` what goes on if a new one cannot be used.
    """

    def __init__(
        self,
        path: Path,
        *,
        setting: str,
        title: str,
        kept: str,
        read: Callable[[Path], Content],
        put: Callable[[Content, Content | None], None],
        interval_ms: int = INTERVAL_MS,
    ) -> None:
        self.failures = 0
        self.problem: str | None = None
        """The reason why what is in force is not that of the file; None if it is."""
        self._path = path
        self._setting, self._title, self._kept = setting, title, kept
        self._read_content = read
        self._put_content = put
        self._in_force: Content | None = None
        self._stamp: _Stamp = None
        self._lock = asyncio.Lock()
        self._periodic = Periodic(title, interval_ms, self.refresh)

    def load(self) -> None:
        """Put the content in force, or raise SettingsError: nothing starts without the rules that it was given."""
        try:
            self._stamp, content = self._read()
        except ERRORS as error:
            text = f"{self._setting} {self._path}: {_reason(error)}; correct the file, or take the setting out"
            raise SettingsError(text) from error
        self._put(content)

    def watch(self) -> None:
        self._periodic.start()

    async def stop(self) -> None:
        await self._periodic.stop()

    async def refresh(self) -> None:
        """Read the file if it has changed, or could not be used. The disk is waited for in a thread."""
        await self._look(always=False)

    async def reload(self) -> None:
        """Read the file, whether it has changed or not."""
        await self._look(always=True)

    async def _look(self, *, always: bool) -> None:
        async with self._lock:
            stamp = await asyncio.to_thread(self._current_stamp)
            is_new = stamp != self._stamp
            if not (is_new or always or self.problem is not None):
                return
            self._stamp = stamp
            try:
                self._stamp, content = await asyncio.to_thread(self._read)
            except ERRORS as error:
                self._fail(f"{self._path}: {_reason(error)}", is_new=is_new)
                return
            self.problem = None
            self._put(content)

    def _fail(self, problem: str, *, is_new: bool) -> None:
        """Count and log each state of the file once, and each other reason why it cannot be used."""
        if is_new or problem != self.problem:
            self.failures += 1
            logger.error("the %s has changed and cannot be used, %s: %s", self._title, self._kept, problem)
        self.problem = problem

    def _put(self, content: Content) -> None:
        self._put_content(content, self._in_force)
        self._in_force = content

    def _current_stamp(self) -> _Stamp:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino, found.st_mode, found.st_uid

    def _read(self) -> tuple[_Stamp, Content]:
        """The content, and the stamp from before it was read: a change meanwhile is seen the next time."""
        stamp = self._current_stamp()
        return stamp, self._read_content(self._path)


def _reason(error: Exception) -> str:
    return (error.strerror or str(error)).lower() if isinstance(error, OSError) else str(error)
