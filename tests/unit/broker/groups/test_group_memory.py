"""The memory that groups keep for their members: counted, bounded, and given back."""

from __future__ import annotations

import asyncio
import sys

import pytest

from penstock.broker.groups.claim import Identity
from penstock.broker.groups.classic.exchange import SyncRequest
from penstock.broker.groups.embedded_protocol import CONSUMER, subscribed_topics
from penstock.broker.groups.memory import SMALL_BYTES, GroupAccount, GroupMemory, kept_bytes
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.limits import GROUP_MEMBER_BYTES_MAX, GROUP_TOPICS_MAX
from tests.support.group_client import subscription
from tests.support.group_requests import SESSION_MS, SUBSCRIPTION, code_of, join, stable, sync
from tests.support.group_world import World, run, settle

pytestmark = pytest.mark.feature("F-06")

LARGE = (("range", SUBSCRIPTION + bytes(100_000)),)


def test_members_that_keep_much_leave_room_for_small_ones(caplog: pytest.LogCaptureFixture) -> None:
    memory = GroupMemory(16 * SMALL_BYTES)
    account = GroupAccount(memory)
    account.change(13 * SMALL_BYTES)
    account.change(SMALL_BYTES)
    for _ in range(3):
        with pytest.raises(KafkaError) as refused:
            account.check(SMALL_BYTES + 1)
        assert code_of(refused) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    account.check(SMALL_BYTES)
    account.change(2 * SMALL_BYTES)
    with pytest.raises(KafkaError):
        account.check(1)
    account.check(0)
    account.check(-1)
    assert caplog.text.count("limits.group_metadata_bytes_max") == 1, "one line for many refusals"
    account.close()
    account.change(5)
    account.close()
    assert (account.held_bytes, memory.held_bytes) == (0, 0)


def test_everything_that_is_kept_is_counted_and_given_back() -> None:
    async def test() -> None:
        async with World() as world:
            memory = world.groups.memory
            answer = await stable(world, "g", protocols=LARGE, client_id="c" * 1_000)
            empty = memory.held_bytes - sys.getsizeof(LARGE[0][1])
            assert 2_000 < empty < 10_000
            larger = (("range", SUBSCRIPTION + bytes(200_000)),)
            joining = asyncio.create_task(join(world, "g", answer.member_id, protocols=larger))
            await settle()
            again = await joining
            assert memory.held_bytes == empty + sys.getsizeof(larger[0][1])
            parts = {answer.member_id: bytes(50_000), "stranger": bytes(1_000_000)}
            await sync(world, "g", Identity(answer.member_id, None), again.generation, parts)
            assert 50_000 - 100 < memory.held_bytes - empty - 200_000 < 50_000 + 200
            await world.pass_time(SESSION_MS + 1)
            assert memory.held_bytes < 6_000
            await world.groups.delete_group("g")
            assert memory.held_bytes == 0

    run(test())


def test_a_refused_assignment_is_given_back() -> None:
    async def test() -> None:
        async with World() as world:
            joining = asyncio.create_task(join(world, "g"))
            await settle()
            await world.pass_time(0)
            answer = await joining
            before = world.groups.memory.held_bytes
            for log in world.engine.logs.values():
                log.refusal = ErrorCode.MESSAGE_TOO_LARGE
            refused = await sync(
                world, "g", Identity(answer.member_id, None), answer.generation, {answer.member_id: bytes(2_000_000)}
            )
            assert refused.error is ErrorCode.UNKNOWN_SERVER_ERROR
            assert world.groups.memory.held_bytes == before

    run(test())


def test_groups_that_are_loaded_count() -> None:
    async def test() -> World:
        async with World() as world:
            await stable(world, "g", protocols=LARGE)
        return world

    async def later(world: World) -> None:
        async with world:
            assert world.groups.memory.held_bytes > 100_000
            await world.pass_time(SESSION_MS + 1)
            assert world.groups.memory.held_bytes < 6_000

    run(later(run(test()).restarted()))


@pytest.mark.parametrize("over", [0, 1])
def test_the_metadata_of_a_member_is_bounded_over_all_its_protocols(over: int) -> None:
    half = bytes(GROUP_MEMBER_BYTES_MAX // 2 - 1)

    async def test() -> None:
        async with World() as world:
            joining = asyncio.create_task(join(world, "g", protocols=(("a", half), ("b", half + bytes(over)))))
            await settle()
            await world.pass_time(0)
            if over:
                with pytest.raises(KafkaError) as refused:
                    await joining
                assert code_of(refused) is ErrorCode.INVALID_REQUEST
                assert world.groups.memory.held_bytes == 0
            else:
                assert (await joining).error is ErrorCode.NONE

    run(test())


def test_a_request_that_waits_is_not_kept() -> None:
    async def test() -> None:
        async with World() as world:
            unasked = bytes(100_000)
            kept = sys.getrefcount(unasked)
            leader = await stable(world, "g")
            second = asyncio.create_task(join(world, "g"))
            await settle()
            again = await join(world, "g", leader.member_id)
            follower = (await second).member_id
            request = SyncRequest(
                who=Identity(follower, None), generation=again.generation, assignments={follower: unasked}
            )
            waiting = asyncio.create_task(world.groups.classic.sync("g", request))
            del request
            await settle()
            assert not waiting.done()
            assert sys.getrefcount(unasked) == kept
            await sync(world, "g", Identity(leader.member_id, None), again.generation, {follower: b"yours"})
            assert (await waiting).assignment == b"yours"

    run(test())


def test_topics_of_a_group_are_remembered_up_to_a_number() -> None:
    names = [f"t{number}" for number in range(GROUP_TOPICS_MAX + 1)]
    assert subscribed_topics(CONSUMER, [subscription(*names[1:])]) == frozenset(names[1:])
    assert subscribed_topics(CONSUMER, [subscription(*names[:9]), subscription(*names[9:])]) is None
    assert subscribed_topics(CONSUMER, [b"\x00\x00\x7f\xff\xff\xff"]) is None


def test_texts_are_counted_with_what_python_adds() -> None:
    assert kept_bytes("", None) > 200
    assert kept_bytes("é" * 1000) > 1_000
