"""One broker beside another: rules against none, this tree against an earlier one.

Judged is the CPU time of a request, with a slice of work for each in turn and all on one core (`bench.beside`). Nobody
waits for the disk (`storage.flush=os`): a sync takes more CPU time than the request, another amount each time, and the
same for both; with it, ratios of two brokers of one tree scattered by 6 % from pair to pair, without it by 2 %. What is
left to chance is the luck of a process, where its memory lies, and which of the two started first. So each work is done
by many pairs of processes, and the ratio is the median of theirs. `control` compares this tree with itself in the
same way: how far its ratios are from 1 is what the method cannot tell. Where there is valgrind, the instructions of a
request (`bench.instructions`) are told beside it and not judged: a difference that they do not show is none of the code
that runs in user space.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from bench.beside import Beside, Unsynced, compare, one_core, running
from bench.instructions import HERE, USUAL, Counted, can_count, counted
from bench.spread import Figures

RULES: Final = 10_000
PROCESSES: Final = 15
"""Pairs of brokers, one after the other."""
SLICES_MIN: Final = 5
HOT: Final = ("produce_batches", "produce_single", "produce_in_turn", "fetch_large", "fetch_small")
"""Works of `bench.beside` that are hot; their topics begin with `beside-`."""
BEFORE: Final = USUAL
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


Brokers = Callable[[type[Beside], Path], tuple[Beside, Beside]]
"""The two that are compared, of this class and in this directory."""


def with_rules(directory: Path, works: Sequence[str], pairs: int) -> Iterator[tuple[str, Figures]]:
    """A broker without an authorizer, and one with 10,000 rules."""
    policy = write_policy(directory / "policy.json")
    rules = {"acl.enabled": "true", "acl.policy_file": str(policy)}
    yield from _compared(
        "acl", lambda kind, at: (kind(at / "off", HERE), kind(at / "on", HERE, **rules)), directory, works, pairs
    )


def against(tree: Path, directory: Path, works: Sequence[str], pairs: int) -> Iterator[tuple[str, Figures]]:
    """The broker of another tree, and that of this one, both as they come."""
    yield from _compared(
        "before", lambda kind, at: (kind(at / "before", tree), kind(at / "now", HERE)), directory, works, pairs
    )


def with_itself(directory: Path, works: Sequence[str], pairs: int) -> Iterator[tuple[str, Figures]]:
    """The control: two brokers of this tree, both as they come."""
    found = _timed(
        lambda kind, at: (kind(at / "one", HERE), kind(at / "two", HERE)), directory / "control", works, pairs
    )
    yield from ((f"control_{name}", one) for name, one in found.items())


def _compared(
    title: str, brokers: Brokers, directory: Path, works: Sequence[str], pairs: int
) -> Iterator[tuple[str, Figures]]:
    found = _timed(brokers, directory / title, works, pairs)
    if can_count():
        other, own = brokers(Counted, directory / f"{title}-counted")
        assert isinstance(other, Counted)
        assert isinstance(own, Counted)
        for name, theirs, ours in counted(other, own, works):
            found[name] |= {"their_instructions": theirs, "our_instructions": ours, "instruction_ratio": theirs / ours}
            yield f"{title}_{name}", found[name]
    else:
        yield from ((f"{title}_{name}", one) for name, one in found.items())


def _timed(brokers: Brokers, directory: Path, works: Sequence[str], pairs: int) -> dict[str, Figures]:
    """The medians of `PROCESSES` pairs of brokers, which share the pairs of slices."""
    found: dict[str, list[Figures]] = {name: [] for name in works}
    for number in range(PROCESSES):
        other, own = brokers(Unsynced, directory / str(number))
        with one_core(), ExitStack() as stack:
            for broker in (other, own) if number % 2 == 0 else (own, other):
                stack.enter_context(running(broker))
            for name in works:
                found[name].append(compare(name, other, own, max(pairs // PROCESSES, SLICES_MIN)))
    return {
        name: {key: statistics.median(one[key] for one in measured) for key in measured[0]}
        for name, measured in found.items()
    }
