"""Memory of groups, from outside: members keep little, clients that want more get an error, and others go on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from kio.schema.errors import ErrorCode

from tests.support import group_client
from tests.support.broker_process import HOST
from tests.support.group_client import join, subscription, sync
from tests.support.penstock_process import PenstockProcess
from tests.support.raw_client import RawClient
from tests.support.waiting import wait_until
from tests.support.wire import ConnectionClosed

pytestmark = pytest.mark.feature("F-06")

MIB = 1 << 20
JOINS = 12
JOIN_BYTES = 40 * MIB
SESSION_MS = 1_000
CONFIG = (
    f"limits: {{group_metadata_bytes_max: {4 * MIB}}}\n"
    f"groups: {{session_timeout_min_ms: {SESSION_MS}, initial_rebalance_delay_ms: 0}}\n"
)


@pytest.fixture(scope="module")
def penstock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PenstockProcess]:
    process = PenstockProcess(tmp_path_factory.mktemp("groups"), CONFIG)
    process.prepare()
    process.start()
    yield process
    process.stop()


@pytest.fixture
def client(penstock: PenstockProcess) -> Iterator[RawClient]:
    with RawClient(HOST, penstock.port, timeout_s=60.0) as connection:
        group_client.wait_for_coordinator(connection)
        yield connection


def resident_bytes(process: PenstockProcess) -> int:
    return int(Path(f"/proc/{process.pid}/statm").read_text().split()[1]) * 4096


def is_joined(client: RawClient, group: str) -> bool:
    """Whether a member of common size can join a group and get its assignment."""
    joined = join(client, group, version=3, protocols={"range": subscription("t")}, session_timeout=SESSION_MS)
    if joined.error_code != ErrorCode.none:
        return False
    synced = sync(client, group, joined.generation_id, joined.member_id, {joined.member_id: b"mine"})
    assert (synced.error_code, synced.assignment) == (ErrorCode.none, b"mine")
    group_client.leave(client, group, joined.member_id)
    return True


def test_huge_joins_are_refused_and_leave_nothing(penstock: PenstockProcess, client: RawClient) -> None:
    """With one large protocol, or with many."""
    assert is_joined(client, "before")
    refused = join(client, "huge", version=3, protocols={"range": bytes(JOIN_BYTES)})
    assert refused.error_code == ErrorCode.invalid_request
    before = resident_bytes(penstock)
    for number in range(JOINS):
        with RawClient(HOST, penstock.port, timeout_s=60.0) as hostile:
            answer = join(hostile, f"huge-{number}", version=3, protocols={"range": bytes(JOIN_BYTES)})
            assert answer.error_code == ErrorCode.invalid_request
            assert is_joined(client, "meanwhile")
    many = {f"protocol-{number}": bytes(MIB // 10) for number in range(11)}
    assert join(client, "many", version=3, protocols=many).error_code == ErrorCode.invalid_request
    assert resident_bytes(penstock) - before < 2 * JOIN_BYTES


def test_a_request_that_waits_is_not_kept(penstock: PenstockProcess, client: RawClient) -> None:
    """A follower brings assignments that nobody asked for, and waits for those of the leader."""
    leader = join(client, "waits", version=3).member_id
    with RawClient(HOST, penstock.port, timeout_s=60.0) as follower:
        follower.send("join_group", 3, **group_client.join_values("waits"))
        wait_until(lambda: len(_members(client, "waits")) == 2, what="the follower waits for the leader")
        generation = join(client, "waits", version=3, member_id=leader).generation_id
        member_id = follower.receive("join_group", 3)[1].member_id
        before = resident_bytes(penstock)
        unasked = [{"member_id": member_id, "assignment": bytes(2 * JOIN_BYTES)}]
        values = {"group_id": "waits", "generation_id": generation, "member_id": member_id, "assignments": unasked}
        follower.send("sync_group", 3, **values)
        wait_until(lambda: resident_bytes(penstock) - before < JOIN_BYTES // 2, what="the request is forgotten")
        assert sync(client, "waits", generation, leader, {member_id: b"yours"}).error_code == ErrorCode.none
        assert follower.receive("sync_group", 3)[1].assignment == b"yours"


def _members(client: RawClient, group: str) -> list[str]:
    (described,) = client.call("describe_groups", 5, groups=[group]).groups
    return [member.member_id for member in described.members]


def test_a_group_that_is_asked_for_often_has_a_bounded_answer(penstock: PenstockProcess, client: RawClient) -> None:
    """A request of four kilobytes would have an answer of a gigabyte."""
    joined = join(client, "described", version=3, protocols={"range": bytes(MIB - 1000)})
    synced = sync(client, "described", joined.generation_id, joined.member_id, {joined.member_id: b"mine"})
    assert synced.error_code == ErrorCode.none
    before = resident_bytes(penstock)
    with RawClient(HOST, penstock.port, timeout_s=60.0) as hostile:
        twice = hostile.call("describe_groups", 5, groups=["described"] * 2).groups
        assert [len(group.members[0].member_metadata) for group in twice] == [MIB - 1000] * 2
        with pytest.raises((ConnectionClosed, ConnectionError)):
            hostile.call("describe_groups", 5, groups=["described"] * 1_000)
    assert resident_bytes(penstock) - before < 200 * MIB
    assert "ask for less at a time" in penstock.log_file.read_text()
    group_client.leave(client, "described", joined.member_id)


def test_all_groups_together_are_bounded_and_room_comes_back(client: RawClient) -> None:
    """Members that want much are told to try again; small ones still join; a session that ends makes room."""
    large = {"range": bytes(MIB - 1000)}
    kept = []
    for number in range(10):
        joined = join(client, f"large-{number}", version=3, protocols=large, session_timeout=SESSION_MS)
        if joined.error_code != ErrorCode.none:
            break
        kept.append((f"large-{number}", joined))
    assert joined.error_code == ErrorCode.coordinator_not_available
    assert len(kept) == 3
    listed = {group.group_id for group in client.call("list_groups", 4, states_filter=[]).groups}
    assert kept[0][0] in listed
    assert f"large-{len(kept)}" not in listed, "a refusal leaves nothing behind, in memory or on disk"
    assert is_joined(client, "small")
    name, leader = kept[0]
    too_much = {leader.member_id: bytes(MIB - 1000)}
    synced = sync(client, name, leader.generation_id, leader.member_id, too_much)
    assert synced.error_code == ErrorCode.coordinator_not_available

    def joins_again() -> bool:
        answer = join(client, "late", version=3, protocols=large, session_timeout=SESSION_MS)
        return bool(answer.error_code == ErrorCode.none)

    wait_until(joins_again, what="the sessions have ended", within_s=30.0)


def test_ids_that_are_never_used_are_bounded(client: RawClient, penstock: PenstockProcess) -> None:
    """An id is handed out to everyone that asks and kept for a session: it is counted, and forgotten."""
    values = group_client.join_values("ids", session_timeout=SESSION_MS)
    with RawClient(HOST, penstock.port, client_id="c" * 30_000) as hostile:
        codes = [hostile.call("join_group", 4, **values).error_code for _ in range(200)]
        assert set(codes) == {ErrorCode.member_id_required, ErrorCode.coordinator_not_available}
        wait_until(
            lambda: hostile.call("join_group", 4, **values).error_code == ErrorCode.member_id_required,
            what="the ids have lapsed",
            within_s=30.0,
        )


def test_a_real_consumer_is_served_while_others_want_too_much(penstock: PenstockProcess, client: RawClient) -> None:
    topic = client.create_topic(partitions=4)
    producer = Producer({"bootstrap.servers": penstock.bootstrap})
    for number in range(20):
        producer.produce(topic, str(number), partition=number % 4)
    producer.flush(30)
    for number in range(4):
        join(client, f"in-the-way-{number}", version=3, protocols={"range": bytes(MIB - 1000)}, session_timeout=30_000)
    settings = {"bootstrap.servers": penstock.bootstrap, "group.id": "real", "auto.offset.reset": "earliest"}
    consumers = [Consumer(settings), Consumer(settings)]
    seen: set[bytes] = set()

    def consumed() -> bool:
        for consumer in consumers:
            message = consumer.poll(0.2)
            if message is not None and message.error() is None:
                seen.add(message.value() or b"")
        return len(seen) == 20 and all(len(each.assignment()) == 2 for each in consumers)

    for consumer in consumers:
        consumer.subscribe([topic])
    wait_until(consumed, what="both have their partitions and everything was read", within_s=60.0)
    for consumer in consumers:
        consumer.close()
