"""The group APIs through their handlers, every version: bytes in, bytes out, answers as Apache Kafka 4.3 gives them."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

import pytest
from kio.schema.errors import ErrorCode

from penstock.broker.broker import Broker
from penstock.broker.fetch.sessions import FetchSessions
from penstock.broker.quotas.quotas import Quotas
from penstock.broker.records.worker import RecordWorker
from penstock.broker.telemetry.telemetry import ClientTelemetry
from penstock.broker.transactions.coordinator import TransactionCoordinator
from penstock.broker.transactions.producer_ids import ProducerIds
from penstock.net.endpoint import Endpoint
from penstock.net.flow_control import FlowControl
from penstock.observability.metrics import BrokerMetrics
from penstock.protocol.kafka.apis import APIS
from penstock.protocol.kafka.messages import response_reader
from tests.support.channel import handled, open_channel, request_on
from tests.support.group_world import World, run, settle
from tests.support.wire import API_KEYS, encode_body

pytestmark = pytest.mark.feature("F-01")

SUBSCRIPTION = bytes.fromhex("000100000001000174ffffffff00000000")  # topic t
LOCAL = Endpoint("192.0.2.7", 9092)


def versions(api: str) -> list[int]:
    known = APIS[API_KEYS[api]]
    return list(range(known.oldest, known.newest + 1))


class Door:
    """Calls handlers as the dispatcher does."""

    def __init__(self, world: World) -> None:
        async def next_block(size: int) -> int:
            return world.store.producer_ids.next_block(size)

        self.world = world
        metrics = BrokerMetrics()
        producer_ids = ProducerIds(next_block)
        self.broker = Broker(
            settings=world.settings,
            node_id=1,
            cluster_id=world.store.cluster_id,
            clock=world.clock,
            engine=world.engine,
            topics=world.topics,
            partitions=world.partitions,
            controller=world.controller,
            groups=world.groups,
            producer_ids=producer_ids,
            transactions=TransactionCoordinator(
                settings=world.settings.transactions,
                partitions=world.partitions,
                topics=world.topics,
                controller=world.controller,
                clock=world.clock,
                producer_ids=producer_ids,
                on_offsets_ended=world.groups.end_transaction,
            ),
            fetch_sessions=FetchSessions(),
            quotas=Quotas(
                store=world.store.quotas, commands=world.controller.commands, clock=world.clock, probe=metrics.quotas
            ),
            telemetry=ClientTelemetry(
                configs=world.controller.configs,
                worker=RecordWorker(),
                settings=world.settings.telemetry,
                clock=world.clock,
            ),
            metrics=metrics,
            flow=FlowControl(1 << 30),
        )

    async def call(self, api: str, version: int, **values: Any) -> Any:
        key = API_KEYS[api]
        channel = open_channel(self.broker, LOCAL, client_id="wire")
        body = await handled(self.broker, request_on(channel, key, version, encode_body(api, version, values)))
        entity, size = response_reader(key, version)(body, 0)
        assert size == len(body)
        return entity

    async def join(self, group: str, version: int = 9, member_id: str = "", **values: Any) -> Any:
        plain = {
            "group_id": group,
            "session_timeout": 10_000,
            "rebalance_timeout": 60_000,
            "member_id": member_id,
            "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": SUBSCRIPTION}],
        }
        joining = asyncio.create_task(self.call("join_group", version, **plain | values))
        await settle()
        await self.world.pass_time(0)
        return await joining

    async def sync(self, group: str, joined: Any, version: int = 5, **values: Any) -> Any:
        plain = {
            "group_id": group,
            "generation_id": joined.generation_id,
            "member_id": joined.member_id,
            "protocol_type": "consumer",
            "protocol_name": "range",
            "assignments": [{"member_id": joined.member_id, "assignment": b"all"}],
        }
        return await self.call("sync_group", version, **plain | values)

    async def stable(self, group: str, **values: Any) -> Any:
        joined = await self.join(group, 3, **values)
        synced = await self.sync(group, joined)
        assert synced.assignment == b"all"
        return joined

    async def commit(self, group: str, version: int = 9, **values: Any) -> Any:
        partition = {
            "partition_index": values.pop("partition", 0),
            "committed_offset": values.pop("offset", 5),
            "committed_leader_epoch": 3,
            "committed_metadata": values.pop("metadata", "note"),
        }
        topic = {"name": values.pop("topic", "t"), "topic_id": values.pop("topic_id", None)}
        plain = {
            "group_id": group,
            "generation_id_or_member_epoch": -1,
            "member_id": "",
            "retention_time": -1,
            "topics": [{**topic, "partitions": [partition]}],
        }
        answer = await self.call("offset_commit", version, **plain | values)
        return answer.topics[0].partitions[0].error_code


def scenario(test: Any, **settings: Any) -> None:
    """Run a test with a door to a world that has the topic t with two partitions."""

    async def whole() -> None:
        async with World(**settings) as world:
            await world.create_topic("t", 2)
            await test(Door(world))

    run(whole())


@pytest.mark.parametrize("version", versions("join_group"))
def test_join_every_version(version: int) -> None:
    async def test(door: Door) -> None:
        joined = await door.join("g", version)
        if version >= 4:
            assert joined.error_code == ErrorCode.member_id_required
            assert joined.generation_id == -1
            assert joined.protocol_name == (None if version >= 7 else "")
            joined = await door.join("g", version, joined.member_id)
        assert joined.error_code == ErrorCode.none
        assert joined.generation_id == 1
        assert joined.member_id == joined.leader
        assert joined.member_id.startswith("wire-")
        assert joined.protocol_name == "range"
        assert [member.metadata for member in joined.members] == [SUBSCRIPTION]

    scenario(test)


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"group_id": ""}, ErrorCode.invalid_group_id),
        ({"session_timeout": 5_999}, ErrorCode.invalid_session_timeout),
        ({"session_timeout": 1_800_001}, ErrorCode.invalid_session_timeout),
        ({"protocols": []}, ErrorCode.inconsistent_group_protocol),
        ({"protocol_type": ""}, ErrorCode.inconsistent_group_protocol),
        ({"member_id": "stranger"}, ErrorCode.unknown_member_id),
    ],
)
def test_joins_that_are_refused(values: dict[str, Any], code: ErrorCode) -> None:
    async def test(door: Door) -> None:
        for version in (2, 5, 9):
            answer = await door.join("g", version, **values)
            assert (answer.error_code, answer.generation_id, answer.members) == (code, -1, ())
            assert answer.member_id == values.get("member_id", "")

    scenario(test)


@pytest.mark.feature("K-05")
@pytest.mark.parametrize("version", [5, 8, 9])
def test_a_static_member_comes_back(version: int) -> None:
    async def test(door: Door) -> None:
        joined = await door.join("g", version, group_instance_id="inst")
        await door.sync("g", joined, group_instance_id="inst")
        again = await door.join("g", version, group_instance_id="inst")
        assert again.generation_id == 1
        assert again.member_id != joined.member_id
        if version >= 9:
            assert again.skip_assignment
            assert again.leader == again.member_id
        else:
            assert (again.leader, again.members) == (joined.member_id, ())
        beat = await door.call(
            "heartbeat", 4, group_id="g", generation_id=1, member_id=joined.member_id, group_instance_id="inst"
        )
        assert beat.error_code == ErrorCode.fenced_instance_id

    scenario(test)


@pytest.mark.parametrize("version", versions("sync_group"))
def test_sync_every_version(version: int) -> None:
    async def test(door: Door) -> None:
        joined = await door.join("g", 3)
        synced = await door.sync("g", joined, version)
        assert (synced.error_code, synced.assignment) == (ErrorCode.none, b"all")
        if version >= 5:
            assert (synced.protocol_type, synced.protocol_name) == ("consumer", "range")
            for wrong in ({"protocol_name": "sticky"}, {"protocol_name": None}, {"protocol_type": None}):
                refused = await door.sync("g", joined, version, **wrong)
                assert refused.error_code == ErrorCode.inconsistent_group_protocol
        for values, code in (
            ({"group_id": ""}, ErrorCode.invalid_group_id),
            ({"group_id": "unknown"}, ErrorCode.unknown_member_id),
            ({"generation_id": 7}, ErrorCode.illegal_generation),
            ({"member_id": "stranger"}, ErrorCode.unknown_member_id),
        ):
            refused = await door.sync("g", joined, version, **values)
            assert (refused.error_code, refused.assignment) == (code, b"")

    scenario(test)


@pytest.mark.parametrize("version", versions("heartbeat"))
def test_heartbeat_every_version(version: int) -> None:
    async def test(door: Door) -> None:
        joined = await door.stable("g")
        plain = {"group_id": "g", "generation_id": 1, "member_id": joined.member_id}
        for values, code in (
            ({}, ErrorCode.none),
            ({"group_id": ""}, ErrorCode.invalid_group_id),
            ({"group_id": "unknown"}, ErrorCode.unknown_member_id),
            ({"generation_id": 2}, ErrorCode.illegal_generation),
            ({"member_id": "stranger"}, ErrorCode.unknown_member_id),
        ):
            answer = await door.call("heartbeat", version, **plain | values)
            assert answer.error_code == code

    scenario(test)


@pytest.mark.parametrize("version", versions("leave_group"))
def test_leave_every_version(version: int) -> None:
    async def test(door: Door) -> None:
        joined = await door.stable("g")

        async def leave(group: str, *members: str) -> tuple[ErrorCode, list[ErrorCode]]:
            identities = [{"member_id": member, "group_instance_id": None} for member in members]
            answer = await door.call("leave_group", version, group_id=group, member_id=members[0], members=identities)
            return answer.error_code, [item.error_code for item in getattr(answer, "members", ())]

        none, unknown = ErrorCode.none, ErrorCode.unknown_member_id
        assert await leave("", "x") == (ErrorCode.invalid_group_id, [])
        if version < 3:
            assert await leave("unknown", "x") == (unknown, [])
            assert await leave("g", "x") == (unknown, [])
            assert await leave("g", joined.member_id) == (none, [])
        else:
            assert await leave("unknown", "x") == (none, [unknown])
            assert await leave("g", joined.member_id, "x") == (none, [none, unknown])
        group = door.broker.groups.find("g")
        assert group is not None
        assert group.state.value == "Empty"

    scenario(test)


@pytest.mark.parametrize("version", versions("find_coordinator"))
def test_find_coordinator_every_version(version: int) -> None:
    async def test(door: Door) -> None:
        answer = await door.call("find_coordinator", version, key="g", key_type=0, coordinator_keys=["g", "h"])
        found = answer.coordinators if version >= 4 else (answer,)
        assert len(found) == (2 if version >= 4 else 1)
        for item in found:
            assert (item.error_code, item.node_id) == (ErrorCode.none, 1)
            assert (item.host, item.port) == (LOCAL.host, LOCAL.port)
        assert "__consumer_offsets" in door.world.topics
        for key_type in (2, 9) if version >= 1 else ():
            answer = await door.call("find_coordinator", version, key="g", key_type=key_type, coordinator_keys=["g"])
            (item,) = answer.coordinators if version >= 4 else (answer,)
            assert item.error_code == ErrorCode.invalid_request
            assert (item.node_id, item.host, item.port) == (-1, "", -1)

    scenario(test)


@pytest.mark.feature("K-08")
@pytest.mark.parametrize("version", versions("offset_commit"))
def test_commit_every_version(version: int) -> None:
    async def test(door: Door) -> None:
        topic = door.world.topics.get("t")
        assert topic is not None
        here = {"topic_id": topic.topic_id} if version >= 10 else {}
        assert await door.commit("g", version, **here) == ErrorCode.none
        stored = door.broker.groups.committed("g")["t"][0]
        assert (stored.offset, stored.metadata, stored.topic_id) == (5, "note", topic.topic_id)
        assert stored.leader_epoch == (3 if version >= 6 else -1)
        if version <= 4:
            assert await door.commit("g", version, retention_time=1000) == ErrorCode.none
            assert door.broker.groups.committed("g")["t"][0].expire_ms == door.world.clock.now_ms() + 1000
        assert await door.commit("g", version, partition=2, **here) == ErrorCode.unknown_topic_or_partition
        assert await door.commit("g", version, partition=-1, **here) == ErrorCode.unknown_topic_or_partition
        elsewhere = {"topic_id": uuid.uuid4()} if version >= 10 else {"topic": "nowhere"}
        missing = ErrorCode.unknown_topic_id if version >= 10 else ErrorCode.unknown_topic_or_partition
        assert await door.commit("g", version, **elsewhere) == missing
        too_large = await door.commit("g", version, metadata="x" * 4097, **here)
        assert too_large == ErrorCode.offset_metadata_too_large
        assert await door.commit("g", version, metadata="é" * 4096, **here) == ErrorCode.none
        assert await door.commit("g", version, metadata=None, **here) == ErrorCode.none
        assert door.broker.groups.committed("g")["t"][0].metadata == ""
        member = {"generation_id_or_member_epoch": 1, "member_id": "m"}
        unknown = ErrorCode.group_id_not_found if version >= 9 else ErrorCode.illegal_generation
        assert await door.commit("nobody", version, **member, **here) == unknown
        assert await door.commit("g", version, **member, **here) == ErrorCode.unknown_member_id
        assert await door.commit("", version, **here) == ErrorCode.none

    scenario(test)


@pytest.mark.feature("K-08")
def test_commits_of_members_and_strangers() -> None:
    async def test(door: Door) -> None:
        joined = await door.join("g", 3)
        mine = {"generation_id_or_member_epoch": 1, "member_id": joined.member_id}
        assert await door.commit("g", **mine) == ErrorCode.rebalance_in_progress
        await door.sync("g", joined)
        assert await door.commit("g", **mine) == ErrorCode.none
        assert await door.commit("g") == ErrorCode.unknown_member_id
        assert await door.commit("g", member_id=joined.member_id) == ErrorCode.illegal_generation
        assert await door.commit("g", **mine | {"generation_id_or_member_epoch": 9}) == ErrorCode.illegal_generation
        assert await door.commit("g", **mine | {"member_id": "x"}) == ErrorCode.unknown_member_id

    scenario(test)


def _offset(partition: Any) -> tuple[Any, ...]:
    epoch = getattr(partition, "committed_leader_epoch", None)
    return partition.partition_index, partition.committed_offset, epoch, partition.metadata, partition.error_code


@pytest.mark.feature("K-08")
@pytest.mark.parametrize("version", versions("offset_fetch"))
def test_fetch_every_version(version: int) -> None:
    async def test(door: Door) -> None:
        topic = door.world.topics.get("t")
        assert topic is not None
        await door.commit("g")
        named = {"name": "t", "topic_id": topic.topic_id}
        other = {"name": "u", "topic_id": uuid.uuid4()}
        wanted = [{**named, "partition_indexes": [0, 1]}, {**other, "partition_indexes": [0]}]

        async def fetch(group: str, topics: Any) -> Any:
            groups = [{"group_id": group, "member_id": "m", "member_epoch": 5, "topics": topics}]
            answer = await door.call(
                "offset_fetch", version, group_id=group, topics=topics, groups=groups, require_stable=True
            )
            return answer.groups[0] if version >= 8 else answer

        epoch, nothing = (3, -1) if version >= 5 else (None, None)
        found = await fetch("g", wanted)
        assert [_offset(item) for item in found.topics[0].partitions] == [
            (0, 5, epoch, "note", ErrorCode.none),
            (1, -1, nothing, "", ErrorCode.none),
        ]
        unknown = ErrorCode.unknown_topic_id if version >= 10 else ErrorCode.none
        assert _offset(found.topics[1].partitions[0]) == (0, -1, nothing, "", unknown)
        assert getattr(found, "error_code", 0) == ErrorCode.none
        never = await fetch("unknown", wanted[:1])
        assert [item.committed_offset for item in never.topics[0].partitions] == [-1, -1]
        if version >= 2:
            everything = await fetch("g", None)
            assert [_offset(item) for item in everything.topics[0].partitions] == [
                (0, 5, epoch, "note", ErrorCode.none)
            ]
            assert (await fetch("unknown", None)).topics == ()

    scenario(test)


@pytest.mark.parametrize("version", versions("offset_fetch"))
def test_errors_of_a_fetch_are_where_the_version_has_them(version: int) -> None:
    async def test(door: Door) -> None:
        await door.commit("g")
        await door.broker.groups.stop()
        topics = [{"name": "t", "topic_id": uuid.uuid4(), "partition_indexes": [0]}]
        groups = [{"group_id": "g", "topics": topics}]
        answer = await door.call("offset_fetch", version, group_id="g", topics=topics, groups=groups)
        unavailable = ErrorCode.coordinator_not_available
        if version == 1:
            assert answer.topics[0].partitions[0].error_code == unavailable
        elif version < 8:
            assert (answer.error_code, answer.topics) == (unavailable, ())
        else:
            assert (answer.groups[0].error_code, answer.groups[0].topics) == (unavailable, ())
        await door.broker.groups.start()

    scenario(test)


@pytest.mark.parametrize("version", versions("describe_groups"))
def test_describe_every_version(version: int) -> None:
    async def test(door: Door) -> None:
        joined = await door.stable("g")
        await door.join("completing", 3)
        answer = await door.call(
            "describe_groups",
            version,
            groups=["g", "completing", "unknown"],
            include_authorized_operations=True,
        )
        stable, completing, unknown = answer.groups
        assert (stable.group_state, stable.protocol_type, stable.protocol_data) == ("Stable", "consumer", "range")
        (member,) = stable.members
        assert (member.member_id, member.client_id, member.client_host) == (joined.member_id, "wire", "/127.0.0.1")
        assert (member.member_metadata, member.member_assignment) == (SUBSCRIPTION, b"all")
        assert (completing.group_state, completing.protocol_data) == ("CompletingRebalance", "")
        assert completing.members[0].member_metadata == b""
        assert unknown.group_state == "Dead"
        assert unknown.error_code == (ErrorCode.group_id_not_found if version >= 6 else ErrorCode.none)
        if version >= 3:
            assert stable.authorized_operations == 3400
        if version >= 6:
            assert unknown.error_message == "Group unknown not found."

    scenario(test)


@pytest.mark.parametrize("version", versions("list_groups"))
def test_list_every_version(version: int) -> None:
    async def test(door: Door) -> None:
        await door.stable("g")
        await door.commit("simple")

        async def names(**filters: Any) -> set[str]:
            answer = await door.call("list_groups", version, **filters)
            assert answer.error_code == ErrorCode.none
            return {group.group_id for group in answer.groups}

        assert await names() == {"g", "simple"}
        if version >= 4:
            assert await names(states_filter=["stable"]) == {"g"}
            assert await names(states_filter=["Bogus"]) == set()
        if version >= 5:
            assert await names(types_filter=["Classic"]) == {"g", "simple"}
            assert await names(types_filter=["consumer"]) == set()

    scenario(test)


@pytest.mark.parametrize("version", versions("delete_groups"))
def test_delete_every_version(version: int) -> None:
    async def test(door: Door) -> None:
        await door.stable("g")
        await door.commit("simple")
        names = ["g", "simple", "unknown", "simple"]
        answer = await door.call("delete_groups", version, groups_names=names)
        assert [(item.group_id, item.error_code) for item in answer.results] == [
            ("g", ErrorCode.non_empty_group),
            ("simple", ErrorCode.none),
            ("unknown", ErrorCode.group_id_not_found),
        ]

    scenario(test)


def test_offset_delete() -> None:
    async def test(door: Door) -> None:
        async def delete(group: str, *topics: tuple[str, list[int]]) -> Any:
            wanted = [
                {"name": name, "partitions": [{"partition_index": index} for index in indexes]}
                for name, indexes in topics
            ]
            return await door.call("offset_delete", 0, group_id=group, topics=wanted)

        joined = await door.stable("g")
        mine = {"generation_id_or_member_epoch": 1, "member_id": joined.member_id}
        await door.commit("g", **mine)
        await door.commit("simple")
        refused = await delete("g", ("t", [0]))
        assert refused.topics[0].partitions[0].error_code == ErrorCode.group_subscribed_to_topic
        done = await delete("simple", ("t", [0, 77]), ("nowhere", [0]))
        codes = [[item.error_code for item in topic.partitions] for topic in done.topics]
        unknown = ErrorCode.unknown_topic_or_partition
        assert codes == [[unknown, ErrorCode.none], [unknown]]  # what is unknown comes first
        assert door.broker.groups.committed("simple") == {}
        assert (await delete("unknown", ("t", [0]))).error_code == ErrorCode.group_id_not_found
        assert (await delete("", ("t", [0]))).error_code == ErrorCode.invalid_group_id

    scenario(test)


def test_a_full_group() -> None:
    async def test(door: Door) -> None:
        await door.stable("g")
        answer = await door.join("g", 3)
        assert (answer.error_code, answer.member_id) == (ErrorCode.group_max_size_reached, "")

    scenario(test, members_max=1)
