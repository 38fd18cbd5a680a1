"""The policy file: its rules and super users are in force as long as the process runs, and change with the file."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from penstock.config.file_trust import write_problem
from penstock.model.text.principal_text import OTHER_TYPE, is_user
from penstock.node.security.watched_file import BYTES_MAX, INTERVAL_MS, WatchedFile
from penstock.security.acl.policy import Policy, PolicyError, parse_policy
from penstock.security.acl.standard import StandardAuthorizer
from penstock.security.audit import Audit, Change

logger = logging.getLogger(__name__)

NAMED_MAX: Final = 10
"""Principals that a warning names: a file may have very many."""


class PolicyFile(WatchedFile[Policy]):
    """The file, and the authorizer that has its rules."""

    def __init__(
        self,
        path: Path,
        authorizer: StandardAuthorizer,
        check: Callable[[Policy], None],
        audit: Audit,
        *,
        only_users: bool = True,
        interval_ms: int = INTERVAL_MS,
    ) -> None:
        """`check` raises PolicyError for a file that may not be put in force. `only_users`: whether clients have no
        principals but those of the type User."""

        def read(path: Path) -> Policy:
            policy = _read(path)
            check(policy)
            return policy

        def put(policy: Policy, before: Policy | None) -> None:
            authorizer.set_policy(policy)
            if before is not None:
                audit.changed_by_file(str(path), _changes(before, policy))
            logger.info(
                "policy file read",
                extra={"path": str(path), "rules": len(policy.rules), "super_users": len(policy.super_users)},
            )
            if only_users and (others := _of_other_types(policy)):
                logger.warning("policy file %s: %s", path, OTHER_TYPE.format(", ".join(others)))

        super().__init__(
            path,
            setting="acl.policy_file",
            title="policy file",
            kept="the old rules go on",
            read=read,
            put=put,
            interval_ms=interval_ms,
        )


def _of_other_types(policy: Policy) -> list[str]:
    principals = policy.super_users | {rule.principal for rule in policy.rules}
    return sorted(each for each in principals if not is_user(each))[:NAMED_MAX]


def _changes(old: Policy, new: Policy) -> list[Change]:
    """Super users first: they may do everything."""
    return [
        *(("create super user", name) for name in sorted(new.super_users - old.super_users)),
        *(("delete super user", name) for name in sorted(old.super_users - new.super_users)),
        *(("create acl", str(rule)) for rule in new.rules - old.rules),
        *(("delete acl", str(rule)) for rule in old.rules - new.rules),
    ]


def _read(path: Path) -> Policy:
    with path.open("rb") as file:
        problem = write_problem(path, os.fstat(file.fileno()))  # of the file that is read, not of one in its place
        if problem is not None:
            raise PolicyError(problem)  # it gives rights, and whoever can write it has all of them
        text = file.read(BYTES_MAX + 1)
    if len(text) > BYTES_MAX:
        raise PolicyError(f"larger than {BYTES_MAX >> 20} MiB")
    return parse_policy(text)
