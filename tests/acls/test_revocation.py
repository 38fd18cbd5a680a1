"""A right that is taken away: whatever remembers a decision asks again before it acts the next time."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import Any

import pytest

from penstock.model.errors import ErrorCode
from penstock.protocol.push import messages as m
from penstock.protocol.push.data import Data
from penstock.security.acl.policy import Policy
from penstock.security.acl.rule import AclRule, PatternType, Permission
from penstock.security.resources import Operation, ResourceType
from penstock.topology.pipe.wire import PullRequest, Status, Wanted, decode_answer, encode_request
from tests.acls.world import AclWorld
from tests.support.acl_client import (
    DELETE,
    DENY,
    DESCRIBE,
    GROUP,
    PREFIXED,
    READ,
    TOPIC,
    WRITE,
    AclClient,
    matching,
    rule,
)
from tests.support.batches import Record, batch
from tests.support.push_client import PushRefused
from tests.support.raw_client import RawClient, unique_name
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("F-05")

BATCH = batch([Record(value=b"v")])
DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
NOT_ASKED = -(1 << 31)


@pytest.fixture
def topic(world: AclWorld) -> str:
    return world.client().create_topic()


def grant(acls: AclClient, topic: str, *operations: int, principal: str = "User:alice") -> None:
    acls.created(*(rule(name=topic, principal=principal, operation=operation) for operation in operations))


def test_the_repeat_path_of_produce(world: AclWorld, acls: AclClient, topic: str) -> None:
    grant(acls, topic, WRITE)
    alice = world.client("alice")
    assert [alice.appended(topic, BATCH) for _ in range(5)] == [0, 1, 2, 3, 4]
    acls.delete(matching(name=topic))
    assert alice.produce(topic, BATCH).error_code == DENIED
    grant(acls, topic, WRITE)
    assert alice.appended(topic, BATCH) == 5


def test_the_repeat_paths_of_several_topics(world: AclWorld, acls: AclClient) -> None:
    """Written to in turn; the right to one of them goes, and the others are not held up."""
    topics = [world.client().create_topic(partitions=2) for _ in range(3)]
    for topic in topics:
        grant(acls, topic, WRITE)
    alice = world.client("alice")
    places = [(topic, partition) for topic in topics for partition in range(2)]
    for turn in range(4):
        assert [alice.appended(topic, BATCH, partition=partition) for topic, partition in places] == [turn] * 6
    acls.delete(matching(name=topics[1]))
    codes = [alice.produce(topic, BATCH, partition=partition).error_code for topic, partition in places * 2]
    assert codes == [ErrorCode.NONE, ErrorCode.NONE, DENIED, DENIED, ErrorCode.NONE, ErrorCode.NONE] * 2


def test_a_denial_comes_before_what_is_allowed(world: AclWorld, acls: AclClient, topic: str) -> None:
    grant(acls, topic, WRITE)
    alice = world.client("alice")
    assert alice.appended(topic, BATCH) == 0
    acls.created(rule(name=topic[:5], pattern=PREFIXED, principal="User:*", operation=WRITE, permission=DENY))
    assert alice.produce(topic, BATCH).error_code == DENIED


def session_of(client: RawClient, topic: str, offset: int = 0) -> int:
    first = client.call("fetch", 12, **client.fetch_values(topic, offset, session_epoch=0))
    assert first.session_id
    return int(first.session_id)


def next_fetch(client: RawClient, session_id: int, epoch: int, **more: Any) -> Any:
    values = {"replica_id": -1, "max_wait": 0, "min_bytes": 1, "max_bytes": 1 << 20, "topics": [], **more}
    return client.call("fetch", 12, session_id=session_id, session_epoch=epoch, **values)


@pytest.mark.parametrize("records", [0, 1])
def test_a_fetch_session_that_has_nothing_new(world: AclWorld, acls: AclClient, topic: str, records: int) -> None:
    """The partition of the session is quiet: without the change of rules it would not be looked at."""
    if records:
        world.client().appended(topic, BATCH)
    grant(acls, topic, READ)
    alice = world.client("alice")
    session_id = session_of(alice, topic, records)
    assert [next_fetch(alice, session_id, epoch).responses for epoch in (1, 2)] == [(), ()]
    acls.delete(matching(name=topic))
    (answer,) = next_fetch(alice, session_id, 3).responses
    assert answer.partitions[0].error_code == DENIED
    world.client().appended(topic, BATCH)
    (answer,) = next_fetch(alice, session_id, 4).responses
    assert (answer.partitions[0].error_code, answer.partitions[0].records) == (DENIED, b"")
    grant(acls, topic, READ)
    (answer,) = next_fetch(alice, session_id, 5).responses
    assert answer.partitions[0].error_code == 0
    assert answer.partitions[0].records


def test_a_parked_fetch_that_is_woken(world: AclWorld, acls: AclClient, topic: str) -> None:
    grant(acls, topic, READ)
    alice = world.client("alice")
    alice.send("fetch", 12, **alice.fetch_values(topic, 0, max_wait=60_000))
    wait_until(lambda: world.metric("penstock_waiting_fetches") == 1, what="the fetch is parked")
    acls.delete(matching(name=topic))
    world.client().appended(topic, BATCH)
    _, answer = alice.receive("fetch", 12)
    partition = answer.responses[0].partitions[0]
    assert (partition.error_code, partition.records) == (DENIED, b"")


def test_a_parked_fetch_whose_time_is_over(world: AclWorld, acls: AclClient, topic: str) -> None:
    """It had found a record, which were too few bytes: they are not sent either."""
    world.client().appended(topic, BATCH)
    grant(acls, topic, READ)
    alice = world.client("alice")
    alice.send("fetch", 12, **alice.fetch_values(topic, 0, max_wait=3_000, min_bytes=1 << 20))
    wait_until(lambda: world.metric("penstock_waiting_fetches") == 1, what="the fetch is parked")
    acls.delete(matching(name=topic))
    _, answer = alice.receive("fetch", 12)
    partition = answer.responses[0].partitions[0]
    assert (partition.error_code, partition.records) == (DENIED, b"")


@pytest.mark.parametrize("version", [1, 8, 10, 12, 13])
def test_encoded_metadata(world: AclWorld, acls: AclClient, topic: str, version: int) -> None:
    def seen(client: RawClient) -> list[tuple[int, int | None]]:
        more = {"include_topic_authorized_operations": True} if version >= 8 else {}
        answer = client.call("metadata", version, topics=[{"name": topic, "topic_id": None}], **more)
        return [(int(each.error_code), getattr(each, "topic_authorized_operations", None)) for each in answer.topics]

    def shown(*operations: int) -> int | None:
        return sum(1 << operation for operation in operations) if version >= 8 else None

    grant(acls, topic, READ)
    admin, alice = world.client(), world.client("alice")
    everything = seen(admin)
    assert seen(alice) == seen(alice) == [(0, shown(READ, DESCRIBE))]
    assert seen(admin) == everything
    grant(acls, topic, DELETE)
    assert seen(alice) == [(0, shown(READ, DELETE, DESCRIBE))]
    acls.delete(matching(name=topic))
    assert seen(alice) == [(DENIED, NOT_ASKED if version >= 8 else None)]
    assert topic not in [each.name for each in alice.call("metadata", version, topics=None).topics]
    assert seen(admin) == everything


@pytest.mark.parametrize(("kind", "code"), [(TOPIC, DENIED), (GROUP, ErrorCode.GROUP_AUTHORIZATION_FAILED)])
def test_a_push_member_is_disconnected(
    world: AclWorld, acls: AclClient, topic: str, kind: int, code: ErrorCode
) -> None:
    name = unique_name("subscription")
    for principal in ("User:alice", "User:bob"):
        acls.created(rule(name=topic, principal=principal), rule(GROUP, name, principal=principal))
    alice = world.member("alice", topic, name)
    world.client().appended(topic, BATCH)
    assert isinstance(alice.receive(), Data)
    bob = world.member("bob", topic, name)
    acls.delete(matching(kind=kind, name=topic if kind == TOPIC else name, principal="User:alice"))
    (last,) = alice.ends()
    assert isinstance(last, m.Error)
    right = f"topic {topic!r}" if kind == TOPIC else f"group {name!r}"
    assert (last.code, last.message) == (
        code,
        f"the right to read {right} was taken away: subscription {name!r} needs it",
    )
    world.client().appended(topic, BATCH)
    assert len(bob.items(2)) == 2, "the message that alice did not acknowledge, and the next one"


def test_a_push_publisher(world: AclWorld, acls: AclClient, topic: str) -> None:
    grant(acls, topic, WRITE)
    alice = world.push("alice")
    assert alice.publish(topic, b"1", b"2") == [0, 1]
    acls.delete(matching(name=topic))
    with pytest.raises(PushRefused) as refused:
        alice.publish(topic, b"3")
    assert refused.value.code == DENIED


def test_a_pull_of_the_pipe(world: AclWorld, acls: AclClient, topic: str) -> None:
    grant(acls, topic, READ)
    admin = world.client()
    topic_id = admin.topic_id(topic).bytes

    def pull(wait_ms: int) -> Any:
        version = json.loads(world.http("alice", "GET", "/pipe/topics")[1])["version"]
        body = encode_request(PullRequest(version, wait_ms, 1 << 20, 10, [Wanted(topic_id, 0, 0, 0)]))
        status, answer = world.http("alice", "POST", "/pipe/records", body)
        assert status == HTTPStatus.OK
        return [(each.status, bytes(each.records)) for each in decode_answer(answer).partitions]

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(pull, 60_000)
        wait_until(lambda: world.metric("penstock_pipe_pulls") == 1, what="the pull waits")
        acls.delete(matching(name=topic))
        admin.appended(topic, BATCH)
        assert waiting.result(60) == [(Status.UNKNOWN, b"")]
    began = time.monotonic()
    assert pull(30_000) == [(Status.UNKNOWN, b"")], "answered at once, as a fetch without rights is"
    assert time.monotonic() - began < 10
    grant(acls, topic, READ)
    ((status, records),) = pull(0)
    assert status is Status.OK
    assert records


def test_http(world: AclWorld, acls: AclClient, topic: str) -> None:
    path = f"/api/v1/topics/{topic}/partitions/0/messages"
    grant(acls, topic, READ)
    assert world.http("alice", "GET", path)[0] == HTTPStatus.OK
    acls.delete(matching(name=topic))
    assert world.http("alice", "GET", path)[0] in (HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND)


def test_a_change_of_the_policy_counts_as_well(world: AclWorld, acls: AclClient, topic: str) -> None:
    wanted = AclRule(
        ResourceType.TOPIC, topic, PatternType.LITERAL, "User:alice", "*", Operation.WRITE, Permission.ALLOW
    )
    world.on_loop(lambda: world.authorizer.set_policy(Policy(frozenset(), frozenset({wanted}))))
    alice = world.client("alice")
    assert [alice.appended(topic, BATCH) for _ in range(3)] == [0, 1, 2]
    assert acls.described(name=topic) == {rule(name=topic, principal="User:alice", operation=WRITE)}
    answer = world.client().call("delete_acls", 3, filters=[matching(name=topic)])
    (found,) = answer.filter_results[0].matching_acls
    assert (int(found.error_code), found.error_message) == (
        ErrorCode.POLICY_VIOLATION,
        "the rule is in the policy file of the node; change it there",
    )
    assert alice.appended(topic, BATCH) == 3
    world.on_loop(lambda: world.authorizer.set_policy(Policy()))
    assert alice.produce(topic, BATCH).error_code == DENIED
