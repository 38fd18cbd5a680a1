"""The APIs and versions that were seen to succeed and to fail, computed from transcripts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.protocol.kafka.apis import APIS

SUCCESS, FAILURE = "success", "failure"

NEVER_FAIL = frozenset(
    {
        ("api_versions", 0), ("api_versions", 1), ("api_versions", 2),
        ("describe_cluster", 0),
        *(("describe_groups", version) for version in range(6)),  # an unknown group is a dead one
        *(("describe_log_dirs", version) for version in range(1, 6)),  # what is unknown is left out
        ("find_coordinator", 0),
        ("list_config_resources", 0),
        *(("list_groups", version) for version in range(6)),
        ("list_partition_reassignments", 0),
        ("list_transactions", 0), ("list_transactions", 1),
        *(("offset_fetch", version) for version in range(1, 10)),  # what is unknown has offset -1
        *(("produce", version) for version in range(3)),  # advertised, and not taken
    }
)  # fmt: skip
"""Requests that Kafka has no error for: their failure is a closed connection, mostly for a body that is none."""

NEVER_SUCCEED = frozenset(
    {
        *(("sasl_handshake", version) for version in range(2)),
        *(("sasl_authenticate", version) for version in range(3)),
        *(("describe_acls", version) for version in range(1, 4)),
    }
)
"""Requests that have no place without SASL or an authorizer, which the servers of a comparison do not have."""

Pair = tuple[str, int, str]  # API in snake case, version, success or failure


def error_codes(answer: Any) -> Iterable[int]:
    if isinstance(answer, dict):
        for name, value in answer.items():
            if name.endswith("error_code") and isinstance(value, int):
                yield value
            else:
                yield from error_codes(value)
    elif isinstance(answer, list):
        for item in answer:
            yield from error_codes(item)


def verdict(answer: Any) -> str | None:
    """Whether an answer is a success or a failure; silence and bytes that do not decode are neither."""
    if answer.get("closed") is True:
        return FAILURE
    if "silent" in answer or "undecodable" in answer:
        return None
    return FAILURE if any(error_codes(answer)) else SUCCESS


def covered(steps: Iterable[tuple[str, Any]]) -> set[Pair]:
    """The pairs that these steps (titles and answers) show."""
    found: set[Pair] = set()
    for title, answer in steps:
        api, _, version = title.partition(":")[0].partition(" v")
        closed = answer.get("closed") is True
        if version and (seen := verdict(answer)) and (not closed or (api, int(version)) in NEVER_FAIL):
            found.add((api, int(version), seen))
    return found


def wanted() -> set[Pair]:
    """Every pair of API and version that Penstock advertises, each once as a success and once as a failure.

    Versions that are only advertised (Produce v0-2) cannot succeed.
    """
    return {
        (snake(api.name), version, kind)
        for api in APIS.values()
        for version in range(api.advertised_oldest, api.newest + 1)
        for kind in ((SUCCESS, FAILURE) if version >= api.oldest else (FAILURE,))
        if kind == FAILURE or (snake(api.name), version) not in NEVER_SUCCEED
    }


def snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")
