"""What a principal may do over Kafka it may do over push, HTTP and the pipe, and nothing else: rule set by rule set."""

from __future__ import annotations

import json
from collections.abc import Callable
from http import HTTPStatus

import pytest

from penstock.model.errors import ErrorCode
from penstock.protocol.push import messages as m
from penstock.topology.pipe.wire import PullRequest, Status, Wanted, decode_answer, encode_request
from tests.acls.asked import BATCH, GROUP, TOPICS
from tests.acls.rule_sets import RULE_SETS
from tests.acls.world import AclWorld
from tests.support.acl_client import AclClient
from tests.support.push_client import PushRefused
from tests.support.raw_client import RawClient

pytestmark = pytest.mark.feature("F-05")

HIDDEN = (HTTPStatus.FORBIDDEN,)
WHO = "alice"


@pytest.fixture(scope="module")
def topics(world: AclWorld) -> dict[str, bytes]:
    """The ids of the topics of the table, by name. Each has a record."""
    admin = world.client()
    for name in TOPICS:
        admin.create_topic(name)
        admin.appended(name, BATCH)
    return {name: admin.topic_id(name).bytes for name in TOPICS}


@pytest.fixture(params=RULE_SETS)
def in_force(request: pytest.FixtureRequest, acls: AclClient) -> None:
    if rules := RULE_SETS[request.param]:
        acls.created(*rules)


def http_allows(world: AclWorld, method: str, path: str, body: bytes | None = None) -> bool:
    status, answer = world.http(WHO, method, path, body)
    assert status < HTTPStatus.BAD_REQUEST or status in HIDDEN, (status, answer)
    return status < HTTPStatus.BAD_REQUEST


def push_allows(act: Callable[[], object]) -> bool:
    try:
        act()
    except PushRefused as refused:
        if refused.code not in (ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.GROUP_AUTHORIZATION_FAILED):
            raise
        return False
    return True


def pipe_allows(world: AclWorld, topic_id: bytes) -> bool:
    body = encode_request(PullRequest(-1, 0, 1 << 20, 10, [Wanted(topic_id, 0, 0, 0)]))
    status, answer = world.http(WHO, "POST", "/pipe/records", body)
    assert status == HTTPStatus.OK
    (pulled,) = decode_answer(answer).partitions
    assert pulled.status in (Status.OK, Status.UNKNOWN)
    return pulled.status is Status.OK and bool(pulled.records)


def listed(client: RawClient) -> set[str]:
    return {each.name for each in client.call("metadata", 12, topics=None).topics if each.name in TOPICS}


@pytest.mark.usefixtures("in_force")
def test_every_door_gives_the_same_verdict(world: AclWorld, topics: dict[str, bytes]) -> None:
    with world.client(WHO) as client, world.push(WHO) as push:
        for name, topic_id in topics.items():
            writes = int(client.produce(name, BATCH).error_code) == 0
            assert push_allows(lambda name=name: push.publish(name, b"v")) is writes  # type: ignore[misc]
            body = json.dumps({"value": "v"}).encode()
            assert http_allows(world, "POST", f"/api/v1/topics/{name}/messages", body) is writes
            reads = int(client.fetch(name, 0).error_code) == 0
            assert http_allows(world, "GET", f"/api/v1/topics/{name}/partitions/0/messages") is reads
            assert pipe_allows(world, topic_id) is reads
            joins = int(client.call("heartbeat", 4, group_id=GROUP, member_id="", generation_id=-1).error_code) != 30
            if name == "t":
                created = push_allows(lambda: push.ask(m.CreateSubscription(GROUP, "t")))
                assert created is (reads and joins)
        seen = listed(client)
        rows = json.loads(world.http(WHO, "GET", "/api/v1/topics")[1])
        assert {row["name"] for row in rows["topics"] if row["name"] in TOPICS} == seen
        pulled = json.loads(world.http(WHO, "GET", "/pipe/topics")[1])["topics"]
        readable = {name for name in topics if int(client.fetch(name, 0).error_code) == 0}
        assert {row["name"] for row in pulled} == readable
