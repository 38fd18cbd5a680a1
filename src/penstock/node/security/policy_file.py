"""The policy file: its rules and super users are in force as long as the process runs, and change with the file."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path

from penstock.config.file_trust import write_problem
from penstock.node.security.watched_file import BYTES_MAX, INTERVAL_MS, WatchedFile
from penstock.security.acl.policy import Policy, PolicyError, parse_policy
from penstock.security.acl.standard import StandardAuthorizer

logger = logging.getLogger(__name__)


class PolicyFile(WatchedFile[Policy]):
    """The file, and the authorizer that has its rules."""

    def __init__(
        self,
        path: Path,
        authorizer: StandardAuthorizer,
        check: Callable[[Policy], None],
        *,
        interval_ms: int = INTERVAL_MS,
    ) -> None:
        """`check` raises PolicyError for a file that may not be put in force."""

        def read(path: Path) -> Policy:
            policy = _read(path)
            check(policy)
            return policy

        def put(policy: Policy) -> None:
            authorizer.set_policy(policy)
            logger.info(
                "policy file read",
                extra={"path": str(path), "rules": len(policy.rules), "super_users": len(policy.super_users)},
            )

        super().__init__(
            path,
            setting="acl.policy_file",
            title="policy file",
            kept="the old rules go on",
            read=read,
            put=put,
            interval_ms=interval_ms,
        )


def _read(path: Path) -> Policy:
    with path.open("rb") as file:
        problem = write_problem(path, os.fstat(file.fileno()))  # of the file that is read, not of one in its place
        if problem is not None:
            raise PolicyError(problem)  # it gives rights, and whoever can write it has all of them
        text = file.read(BYTES_MAX + 1)
    if len(text) > BYTES_MAX:
        raise PolicyError(f"larger than {BYTES_MAX >> 20} MiB")
    return parse_policy(text)
