"""Thousands of refusals in one request are freed with its answer.

A kept error that holds the frames it passed is a cycle with the request in it: it stays until a full collection, which
holds the loop for as long as there were refusals.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.security.access import Access
from penstock.security.acl.standard import StandardAuthorizer
from tests.support.admin_broker import AdminBroker, new_topic

NAMES = [f"t{number}" for number in range(2_000)]
GARBAGE_MAX = 100  # objects, where a cycle for each name would be thousands
RULE = {"resource_type": 2, "resource_pattern_type": 3, "principal": "User:a", "host": "*", "permission_type": 3}
FILTER = {"resource_type_filter": 2, "resource_name_filter": "x", "principal_filter": "User:a", "host_filter": "*"}
CONFIGS = [{"name": "no.such", "value": "1"}]
CHANGES = [{"name": "no.such", "config_operation": 0, "value": "1"}]
OPS = [{"key": "no_such", "value": 1.0, "remove": False}]

REQUESTS: dict[str, tuple[str, int, dict[str, Any]]] = {
    "unknown topics": ("delete_topics", 1, {"topic_names": NAMES, "timeout": 1000}),
    "unknown topics, v6": ("delete_topics", 6, {"topics": [{"name": name} for name in NAMES], "timeout": 1000}),
    "topics twice": ("delete_topics", 1, {"topic_names": NAMES * 2, "timeout": 1000}),
    "no time to delete": ("delete_topics", 1, {"topic_names": NAMES, "timeout": 0}),
    "bad names": ("create_topics", 7, {"topics": [new_topic(f"{name}?") for name in NAMES], "timeout": 1000}),
    "bad configs": (
        "create_topics",
        7,
        {"topics": [new_topic(name, 1, {"no.such": "1"}) for name in NAMES], "timeout": 1000},
    ),
    "no time to create": ("create_topics", 7, {"topics": [new_topic(name) for name in NAMES], "timeout": 0}),
    "more partitions": (
        "create_partitions",
        3,
        {"topics": [{"name": name, "count": 2, "assignments": None} for name in NAMES], "timeout": 1000},
    ),
    "configs": (
        "alter_configs",
        2,
        {"resources": [{"resource_type": 2, "resource_name": name, "configs": CONFIGS} for name in NAMES]},
    ),
    "changes of configs": (
        "incremental_alter_configs",
        1,
        {"resources": [{"resource_type": 2, "resource_name": name, "configs": CHANGES} for name in NAMES]},
    ),
    "bad rules": ("create_acls", 3, {"creations": [RULE | {"resource_name": "", "operation": 2} for _ in NAMES]}),
    "bad filters": (
        "delete_acls",
        3,
        {"filters": [FILTER | {"pattern_type_filter": 77, "operation": 2, "permission_type": 3} for _ in NAMES]},
    ),
    "unknown users": (
        "alter_user_scram_credentials",
        0,
        {"deletions": [{"name": name, "mechanism": 1} for name in NAMES], "upsertions": []},
    ),
    "bad quotas": (
        "alter_client_quotas",
        1,
        {"entries": [{"entity": [{"entity_type": "user", "entity_name": name}], "ops": OPS} for name in NAMES]},
    ),
}


@pytest.fixture(params=["without rights", "with all rights"])
def node(request: pytest.FixtureRequest) -> Iterator[AdminBroker]:
    super_users = ["User:ANONYMOUS"] if request.param == "with all rights" else []
    with AdminBroker(access=Access(authorizer=StandardAuthorizer(super_users))) as node:
        yield node


@pytest.mark.parametrize("name", REQUESTS)
def test_refusals_leave_no_garbage(node: AdminBroker, name: str) -> None:
    api, version, values = REQUESTS[name]
    assert refusals(node.call(api, version, **values)) >= len(NAMES)  # also makes what is made once
    assert garbage_of(node, api, version, values) <= GARBAGE_MAX


def garbage_of(node: AdminBroker, api: str, version: int, values: dict[str, Any]) -> int:
    """The number of objects that only a collection frees."""
    gc.collect()
    gc.disable()
    try:
        node.call(api, version, **values)
        return gc.collect()
    finally:
        gc.enable()


def refusals(answer: Any) -> int:
    """How many parts of the answer have an error."""
    (parts,) = [value for value in vars_of(answer) if isinstance(value, tuple)]
    return sum(part.error_code != 0 for part in parts)


def vars_of(entity: Any) -> list[Any]:
    return [getattr(entity, name) for name in entity.__dataclass_fields__]
