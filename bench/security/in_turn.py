"""One broker beside another, a slice of work for each in turn: rules against none, this tree against an earlier one.

This is `bench.beside`; what is compared is the CPU time of a request, which a busy machine hardly changes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from bench.beside import Beside, compare, running
from bench.spread import Figures

HERE: Final = Path(__file__).parents[2]
RULES: Final = 10_000
HOT: Final = ("produce_batches", "produce_single", "produce_in_turn", "fetch_large", "fetch_small")
"""Works of `bench.beside` that are hot; their topics begin with `beside-`."""
BEFORE: Final = (*HOT, "acknowledge", "api_versions", "connect")
_CLIENT: Final = "User:ANONYMOUS"


def write_policy(path: Path, count: int = RULES) -> Path:
    """Rules for many others, of each kind, and those that the load needs."""
    rules = [_rule(_CLIENT, "ALL", "TOPIC", "beside-", "PREFIXED"), _rule(_CLIENT, "ALL", "CLUSTER", "kafka-cluster")]
    for number in range(count - len(rules)):
        user, operation = f"User:user-{number % 500}", ("READ", "WRITE", "DESCRIBE")[number % 3]
        if number % 10 == 0:
            rules.append(_rule(user, operation, "TOPIC", f"team-{number}.", "PREFIXED"))
        elif number % 10 == 1:
            rules.append(_rule(user, "READ", "GROUP", f"group-{number}"))
        elif number % 10 == 2:
            rules.append(_rule(f"User:other-{number}", operation, "TOPIC", "beside-single", permission="DENY"))
        else:
            rules.append(_rule(user, operation, "TOPIC", f"topic-{number}"))
    path.write_text(json.dumps({"acls": rules}))
    return path


def _rule(
    principal: str, operation: str, kind: str, name: str, pattern: str = "LITERAL", permission: str = "ALLOW"
) -> dict[str, Any]:
    resource = {"type": kind, "name": name, "pattern": pattern}
    return {
        "principal": principal,
        "host": "*",
        "operation": operation,
        "permission": permission,
        "resource": resource,
    }


def with_rules(directory: Path, works: Sequence[str], pairs: int) -> Iterator[tuple[str, Figures]]:
    """A broker without an authorizer, and one with 10,000 rules."""
    policy = write_policy(directory / "policy.json")
    off = Beside(directory / "off", HERE)
    on = Beside(directory / "on", HERE, **{"acl.enabled": "true", "acl.policy_file": str(policy)})
    yield from _compared("acl", off, on, works, pairs)


def against(tree: Path, directory: Path, works: Sequence[str], pairs: int) -> Iterator[tuple[str, Figures]]:
    """The broker of another tree, and that of this one, both as they come."""
    yield from _compared("before", Beside(directory / "before", tree), Beside(directory / "now", HERE), works, pairs)


def _compared(
    title: str, other: Beside, own: Beside, works: Sequence[str], pairs: int
) -> Iterator[tuple[str, Figures]]:
    with ExitStack() as stack:
        stack.enter_context(running(other))
        stack.enter_context(running(own))
        for name in works:
            yield f"{title}_{name}", compare(name, other, own, pairs)
