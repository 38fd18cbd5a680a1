"""Answers and refusals reveal no name, config or member of what the session may not describe, at any door."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

import pytest

from penstock.model.errors import ErrorCode
from penstock.protocol.push import messages as m
from tests.acls.world import AclWorld
from tests.support.acl_client import (
    CLUSTER,
    DELETE,
    DESCRIBE,
    DESCRIBE_CONFIGS,
    GROUP,
    READ,
    TRANSACTIONAL_ID,
    WRITE,
    AclClient,
    rule,
)
from tests.support.push_client import PushRefused
from tests.support.raw_client import RawClient, unique_name
from tests.support.transaction_client import V2, TransactionClient

pytestmark = pytest.mark.feature("F-05")

WHO = "alice"
HERS = f"User:{WHO}"


@pytest.fixture
def topic(world: AclWorld) -> str:
    return world.client().create_topic(unique_name("hidden"))


def shown(world: AclWorld, path: str) -> Any:
    status, body = world.http(WHO, "GET", f"/api/v1{path}")
    assert status == HTTPStatus.OK, body
    return json.loads(body)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_coordinator_that_may_not_be_asked_for_is_refused_in_words(world: AclWorld, version: int) -> None:
    """Clients show the text and not the code."""
    for key_type, text in ((0, "Group authorization failed."), (1, "Transactional Id authorization failed.")):
        answer = world.client(WHO).call("find_coordinator", version, key="k", key_type=key_type)
        assert answer.error_message == text
    assert world.client().call("find_coordinator", version, key="k", key_type=0).error_message == "NONE"


def test_a_transaction_shows_only_topics_that_may_be_described(world: AclWorld, acls: AclClient, topic: str) -> None:
    client, name = world.client(), unique_name("tx")
    other = client.create_topic(unique_name("shown"))
    tx = TransactionClient(client, name, V2).init()
    tx.send(topic, "a")
    tx.send(other, "a")
    acls.created(
        rule(TRANSACTIONAL_ID, name, principal=HERS, operation=WRITE),
        rule(name=other, principal=HERS, operation=DESCRIBE),
    )
    assert shown(world, f"/transactions/{name}")["partitions"] == {other: [0]}
    listed = shown(world, "/transactions")["transactions"]
    assert [row["partitions"] for row in listed if row["transactional_id"] == name] == [{other: [0]}]
    body = json.dumps({"producer_id": tx.producer_id, "producer_epoch": tx.epoch}).encode()
    status, answer = world.http(WHO, "POST", f"/api/v1/transactions/{name}/abort", body)
    assert status == HTTPStatus.OK
    assert topic not in answer.decode()


def test_a_topic_shows_configs_and_subscriptions_by_their_own_rights(
    world: AclWorld, acls: AclClient, topic: str
) -> None:
    group = unique_name("group")
    world.member("admin", topic, group)
    acls.created(rule(name=topic, principal=HERS, operation=DESCRIBE))
    seen = shown(world, f"/topics/{topic}")
    assert (seen["configs"], seen["subscriptions"]) == (None, [])
    acls.created(
        rule(name=topic, principal=HERS, operation=DESCRIBE_CONFIGS),
        rule(GROUP, group, principal=HERS, operation=DESCRIBE),
    )
    seen = shown(world, f"/topics/{topic}")
    assert (seen["configs"], seen["subscriptions"]) == ({}, [group])


def test_http_does_not_tell_which_topics_and_groups_exist(world: AclWorld, topic: str) -> None:
    group, missing = unique_name("group"), unique_name("missing")
    world.member("admin", topic, group)

    def told(path: str) -> tuple[int, str]:
        status, answer = world.http(WHO, "GET", f"/api/v1/{path}")
        return status, json.loads(answer)["error"]

    assert {told(f"topics/{name}") for name in (topic, missing)} == {
        (HTTPStatus.FORBIDDEN, "TOPIC_AUTHORIZATION_FAILED")
    }
    assert {told(f"groups/{name}") for name in (group, missing)} == {
        (HTTPStatus.FORBIDDEN, "GROUP_AUTHORIZATION_FAILED")
    }


@pytest.mark.parametrize("frame", [m.Subscribe, lambda name: m.Reset(name, 0, ())], ids=["subscribe", "reset"])
def test_push_does_not_tell_which_subscriptions_exist(world: AclWorld, acls: AclClient, topic: str, frame: Any) -> None:
    group, missing = unique_name("group"), unique_name("missing")
    world.member("admin", topic, group)

    def told(name: str) -> int:
        with pytest.raises(PushRefused) as refused:
            world.push(WHO).ask(frame(name))
        return refused.value.code

    assert [told(group), told(missing)] == [ErrorCode.GROUP_AUTHORIZATION_FAILED] * 2
    acls.created(rule(GROUP, missing, principal=HERS, operation=READ))
    assert told(missing) == ErrorCode.GROUP_ID_NOT_FOUND


def test_a_reset_does_not_tell_which_groups_have_members(world: AclWorld, acls: AclClient, topic: str) -> None:
    group = unique_name("group")
    world.member("admin", topic, group)
    acls.created(rule(name=topic, principal=HERS, operation=READ))
    body = json.dumps({"to": "earliest", "topics": [{"topic": topic}], "dry_run": True}).encode()

    def told(name: str) -> tuple[int, str]:
        status, answer = world.http(WHO, "POST", f"/api/v1/groups/{name}/offsets/reset", body)
        return status, json.loads(answer)["error"]

    refused = (HTTPStatus.FORBIDDEN, "GROUP_AUTHORIZATION_FAILED")
    assert [told(group), told(unique_name("missing"))] == [refused, refused]
    acls.created(rule(GROUP, group, principal=HERS, operation=DESCRIBE))
    assert told(group) == (HTTPStatus.CONFLICT, "NON_EMPTY_GROUP")


def test_a_refused_deletion_does_not_tell_names_and_ids(world: AclWorld, acls: AclClient, topic: str) -> None:
    """As Kafka's: the name of an id with Describe, and never the id of a name."""
    topic_id = world.client().topic_id(topic)
    by_name, by_id = {"name": topic, "topic_id": None}, {"name": None, "topic_id": topic_id}

    def told(*topics: dict[str, Any]) -> list[tuple[str | None, bool, int]]:
        answer = world.client(WHO).call("delete_topics", 6, topics=list(topics), timeout=10_000)
        return [(each.name, each.topic_id is not None, int(each.error_code)) for each in answer.responses]

    refused = int(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    assert told(by_name) == [(topic, False, refused)]
    assert told(by_id) == [(None, True, refused)]
    assert sorted(told(by_name, by_id), key=str) == [(topic, False, refused), (None, True, refused)]
    acls.created(rule(name=topic, principal=HERS, operation=DESCRIBE))
    assert told(by_name) == [(topic, False, refused)]
    assert told(by_id) == [(topic, True, refused)]
    acls.created(rule(CLUSTER, "kafka-cluster", principal=HERS, operation=DELETE))
    assert told(by_name, by_id) == [(topic, True, int(ErrorCode.INVALID_REQUEST))]
    assert told(by_id) == [(topic, True, 0)]


def test_a_fetch_session_is_unknown_to_other_principals(world: AclWorld, acls: AclClient, topic: str) -> None:
    acls.created(rule(name=topic, principal=HERS, operation=READ), rule(name=topic, principal="User:bob"))
    hers, his = world.client(WHO), world.client("bob")
    session = hers.call("fetch", 12, **hers.fetch_values(topic, 0, session_epoch=0)).session_id
    assert session

    def resumed(client: RawClient, epoch: int) -> int:
        values = client.fetch_values(topic, 0, session_id=session, session_epoch=epoch, max_wait=0)
        return int(client.call("fetch", 12, **{**values, "topics": []}).error_code)

    assert resumed(his, 1) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert resumed(his, -1) == 0, "the end of a session that he has not"
    assert resumed(hers, 1) == 0
