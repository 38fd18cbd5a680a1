"""The right that a request of Kafka needs is enough for the same act over HTTP, and without it both are refused."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, NamedTuple

import pytest

from tests.acls.world import AclWorld
from tests.support.acl_client import (
    ALTER,
    ALTER_CONFIGS,
    CLUSTER,
    CREATE,
    DELETE,
    DENY,
    DESCRIBE,
    DESCRIBE_CONFIGS,
    GROUP,
    READ,
    TOPIC,
    AclClient,
    rule,
)
from tests.support.raw_client import RawClient, unique_name

pytestmark = pytest.mark.feature("F-05")

WHO, NAME = "alice", "User:alice"
CONFIG = {"name": "retention.ms", "config_operation": 0, "value": "1000"}
CLUSTER_NAME = "kafka-cluster"


class Act(NamedTuple):
    rights: tuple[tuple[int, int], ...]
    """Resource and operation; each is enough alone."""
    kafka: Callable[[RawClient, str], int]
    """The error code, for a topic of this name."""
    http: Callable[[str], tuple[str, str, Any]]


def altered(client: RawClient, topic: str) -> int:
    resource = {"resource_type": 2, "resource_name": topic, "configs": [CONFIG]}
    answer = client.call("incremental_alter_configs", 1, resources=[resource], validate_only=False)
    return int(answer.responses[0].error_code)


def described(client: RawClient, topic: str) -> int:
    asked = {"resource_type": 2, "resource_name": topic, "configuration_keys": None}
    options = {"include_synonyms": False, "include_documentation": False}
    return int(client.call("describe_configs", 4, resources=[asked], **options).results[0].error_code)


def grown(client: RawClient, topic: str) -> int:
    wanted = [{"name": topic, "count": 2, "assignments": None}]
    answer = client.call("create_partitions", 3, topics=wanted, timeout=10_000, validate_only=True)
    return int(answer.results[0].error_code)


def deleted(client: RawClient, topic: str) -> int:
    answer = client.call("delete_topics", 5, topic_names=[topic], timeout=10_000)
    return int(answer.responses[0].error_code)


def read(client: RawClient, topic: str) -> int:
    return int(client.fetch(topic, 0).error_code)


def created(client: RawClient, topic: str) -> int:
    """Of another topic with the same beginning of its name."""
    wanted = {"name": f"{topic}-2", "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}
    answer = client.call("create_topics", 5, topics=[wanted], timeout=10_000, validate_only=True)
    return int(answer.topics[0].error_code)


ACTS = {
    "delete": Act(((TOPIC, DELETE), (CLUSTER, DELETE)), deleted, lambda t: ("DELETE", f"/topics/{t}", None)),
    "see configs": Act(((TOPIC, DESCRIBE_CONFIGS), (TOPIC, ALTER_CONFIGS)), described,
                       lambda t: ("GET", f"/topics/{t}/configs", None)),
    "change configs": Act(((TOPIC, ALTER_CONFIGS),), altered,
                          lambda t: ("PATCH", f"/topics/{t}/configs", {"set": {"retention.ms": 1000}})),
    "add partitions": Act(((TOPIC, ALTER),), grown,
                          lambda t: ("POST", f"/topics/{t}/partitions", {"count": 2, "validate_only": True})),
    "read": Act(((TOPIC, READ),), read, lambda t: ("GET", f"/topics/{t}/partitions/0/messages", None)),
    "create": Act(((CLUSTER, CREATE),), created,
                  lambda t: ("POST", "/topics", {"name": f"{t}-2", "partitions": 1, "validate_only": True})),
}  # fmt: skip
CASES = [
    (name, *right, denied)
    for name, act in ACTS.items()
    for right, denied in itertools.product(act.rights, (False, True))
]


def asked(world: AclWorld, method: str, path: str, body: Any) -> int:
    content = None if body is None else json.dumps(body).encode()
    status, answer = world.http(WHO, method, f"/api/v1{path}", content)
    assert status < HTTPStatus.BAD_REQUEST or status == HTTPStatus.FORBIDDEN, (status, answer)
    return status


@pytest.mark.parametrize(("name", "kind", "operation", "hides"), CASES)
def test_one_right_is_enough_at_both_doors(
    world: AclWorld, acls: AclClient, name: str, kind: int, operation: int, hides: bool
) -> None:
    """Also where the topic may not be described, which other rights imply."""
    act, topic, other = ACTS[name], unique_name(), unique_name()
    admin = world.client()
    for each in (topic, other):
        admin.create_topic(each)
    with world.client(WHO) as client:
        assert act.kafka(client, topic) != 0
        assert asked(world, *act.http(topic)) == HTTPStatus.FORBIDDEN
        for each in (topic, other):
            resource = CLUSTER_NAME if kind == CLUSTER else each
            acls.created(rule(kind, resource, principal=NAME, operation=operation))
            if hides:
                acls.created(rule(TOPIC, each, principal=NAME, operation=DESCRIBE, permission=DENY))
        by_kafka = act.kafka(client, topic) == 0
        by_http = asked(world, *act.http(other)) < HTTPStatus.BAD_REQUEST
        assert by_http is by_kafka
        assert by_kafka or hides


@pytest.mark.parametrize(("kind", "operation"), [(CLUSTER, DESCRIBE), (GROUP, DESCRIBE), (GROUP, READ)])
def test_lists_of_groups_are_the_same(world: AclWorld, acls: AclClient, kind: int, operation: int) -> None:
    admin, groups = world.client(), [unique_name("group") for _ in range(3)]
    topic = admin.create_topic()
    for group in groups:
        place = {"partition_index": 0, "committed_offset": 0, "committed_leader_epoch": -1, "committed_metadata": None}
        admin.call(
            "offset_commit", 8, group_id=group, generation_id=-1, member_id="", group_instance_id=None,
            topics=[{"name": topic, "partitions": [place]}],
        )  # fmt: skip

    def shown() -> tuple[set[str], set[str]]:
        with world.client(WHO) as client:
            found = client.call("list_groups", 4, states_filter=[]).groups
        rows = json.loads(world.http(WHO, "GET", "/api/v1/groups?limit=1000")[1])["groups"]
        return {each.group_id for each in found} & {*groups}, {row["group"] for row in rows} & {*groups}

    assert shown() == (set(), set())
    acls.created(rule(kind, CLUSTER_NAME if kind == CLUSTER else groups[0], principal=NAME, operation=operation))
    expected = {*groups} if kind == CLUSTER else {groups[0]}
    assert shown() == (expected, expected)
