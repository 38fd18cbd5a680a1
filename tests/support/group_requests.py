"""Requests to the group coordinator of a small world: commits, and members that join and sync."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from penstock.broker.coordination.placement import partition_of
from penstock.broker.groups.claim import CommitClaim, Identity
from penstock.broker.groups.classic.exchange import JoinAnswer, JoinRequest, SyncAnswer, SyncRequest
from penstock.broker.groups.offsets.records import CommittedOffset, OffsetChange
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.topic_name import CONSUMER_OFFSETS
from tests.support.group_world import HandLog, World, settle

NOBODY = Identity("", None)
SESSION_MS = 10_000
SUBSCRIPTION = bytes.fromhex("000100000001000174ffffffff00000000")  # topic t


def change(world: World, offset: int, topic: str = "t", partition: int = 0, **values: Any) -> OffsetChange:
    found = world.topics.get(topic)
    assert found is not None
    values = {"topic_id": found.topic_id, **values}
    return OffsetChange(topic, partition, CommittedOffset(offset, -1, "", world.clock.now_ms(), **values))


async def commit(world: World, group: str, *changes: OffsetChange, who: Identity = NOBODY, at: int = -1) -> None:
    await world.groups.commit(group, CommitClaim(who.member_id, who.instance_id, at), list(changes))


def committed(world: World, group: str, topic: str = "t", partition: int = 0) -> int | None:
    found = world.groups.committed(group).get(topic, {}).get(partition)
    return None if found is None else found.offset


def log_of(world: World, group: str) -> HandLog:
    return world.log_of(CONSUMER_OFFSETS, partition_of(group, 5))


async def join(world: World, group: str, member_id: str = "", **changes: Any) -> JoinAnswer:
    values: dict[str, Any] = {
        "member_id": member_id,
        "instance_id": None,
        "client_id": "c",
        "client_host": "/h",
        "session_timeout_ms": SESSION_MS,
        "rebalance_timeout_ms": 60_000,
        "protocol_type": "consumer",
        "protocols": (("range", SUBSCRIPTION),),
        "needs_member_id": False,
        "can_skip_assignment": True,
    }
    return await world.groups.classic.join(group, JoinRequest(**values | changes))


async def sync(world: World, group: str, who: Identity, generation: int, assignments: dict[str, bytes]) -> SyncAnswer:
    return await world.groups.classic.sync(group, SyncRequest(who=who, generation=generation, assignments=assignments))


async def stable(world: World, group: str, **changes: Any) -> JoinAnswer:
    """A group with one member, which has been assigned b'all'."""
    joining = asyncio.create_task(join(world, group, **changes))
    await settle()
    await world.pass_time(0)
    answer = await joining
    who = Identity(answer.member_id, changes.get("instance_id"))
    synced = await sync(world, group, who, answer.generation, {answer.member_id: b"all"})
    assert (synced.error, synced.assignment) == (ErrorCode.NONE, b"all")
    return answer


def code_of(error: pytest.ExceptionInfo[KafkaError]) -> ErrorCode:
    return error.value.code
