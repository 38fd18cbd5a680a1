"""The policy file of a node: read at the start, and again when it has changed, whole or not at all.

A file that cannot be read later keeps the rules that it had: one error line, a count and a warning in the health report
until it can be read again.
"""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Final

from penstock.node.errors import StartError
from penstock.runtime.periodic import Periodic
from penstock.security.acl.policy import Policy, PolicyError, parse_policy
from penstock.security.acl.standard import StandardAuthorizer

logger = logging.getLogger(__name__)

INTERVAL_MS: Final = 2_000
BYTES_MAX: Final = 64 << 20

_Stamp = tuple[int, int, int] | None
"""Time of the last change, size and inode; None while there is no such file."""


class PolicyFile:
    """The file, and the authorizer that has its rules."""

    def __init__(self, path: Path, authorizer: StandardAuthorizer, *, interval_ms: int = INTERVAL_MS) -> None:
        self.failures = 0
        self.problem: str | None = None
        """The reason why the rules in force are not those of the file; None if they are."""
        self._path = path
        self._authorizer = authorizer
        self._stamp: _Stamp = None
        self._lock = asyncio.Lock()
        self._periodic = Periodic("policy file", interval_ms, self.refresh)

    def load(self) -> None:
        """Put the rules in force, or raise StartError: a node does not start without rules that it was given."""
        try:
            self._stamp, policy = self._read()
        except (OSError, PolicyError) as error:
            text = f"acl.policy_file {self._path}: {_reason(error)}; correct the file, or take the setting out"
            raise StartError(text) from error
        self._put(policy)

    def watch(self) -> None:
        self._periodic.start()

    async def stop(self) -> None:
        await self._periodic.stop()

    async def refresh(self) -> None:
        """Read the file if it has changed. The disk is waited for in a thread."""
        async with self._lock:
            await self._refresh()

    async def _refresh(self) -> None:
        stamp = await asyncio.to_thread(self._current_stamp)
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._stamp, policy = await asyncio.to_thread(self._read)
        except (OSError, PolicyError) as error:
            self.failures += 1
            self.problem = f"{self._path}: {_reason(error)}"
            logger.error("the policy file has changed and cannot be used, the old rules go on: %s", self.problem)
            return
        self._put(policy)

    def _put(self, policy: Policy) -> None:
        self.problem = None
        self._authorizer.set_policy(policy)
        logger.info(
            "policy file read",
            extra={"path": str(self._path), "rules": len(policy.rules), "super_users": len(policy.super_users)},
        )

    def _current_stamp(self) -> _Stamp:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _read(self) -> tuple[_Stamp, Policy]:
        """The policy, and the stamp from before it was read: a change meanwhile is seen the next time."""
        stamp = self._current_stamp()
        if stamp is not None and stamp[1] > BYTES_MAX:
            raise PolicyError(f"larger than {BYTES_MAX >> 20} MiB")
        return stamp, parse_policy(self._path.read_bytes())


def _reason(error: Exception) -> str:
    return (error.strerror or str(error)).lower() if isinstance(error, OSError) else str(error)
