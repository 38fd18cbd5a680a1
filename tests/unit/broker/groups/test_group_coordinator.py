"""The coordinator over logs that flush when told to: what is on disk is visible, what is not may be lost."""

from __future__ import annotations

import asyncio
import logging

import pytest

from penstock.broker.coordination.placement import partition_of
from penstock.broker.groups.claim import NO_MEMBER, Identity
from penstock.broker.groups.classic.exchange import JoinAnswer
from penstock.broker.groups.classic.records import GroupKey, decode_group, encode_key
from penstock.broker.groups.log.shards import LINES_OF_GROUP_MAX
from penstock.broker.transactions.transaction import ProducerIdentity
from penstock.model.batch import read_header
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.control_record import Marker
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.limits import GROUP_ID_BYTES_MAX
from penstock.model.topic_name import CONSUMER_OFFSETS
from tests.support.group_requests import SESSION_MS, change, code_of, commit, committed, join, log_of, stable, sync
from tests.support.group_world import World, run, settle

pytestmark = pytest.mark.feature("K-05", "K-08")

MINUTE_MS = 60_000


def test_an_offset_is_visible_when_it_is_on_disk() -> None:
    async def test() -> None:
        async with World() as world:
            await world.create_topic("t")
            await commit(world, "g", change(world, 1))
            world.engine.hold_flushes()
            first = asyncio.create_task(commit(world, "g", change(world, 2)))
            second = asyncio.create_task(commit(world, "g", change(world, 3)))
            await settle()
            assert committed(world, "g") == 1
            assert not first.done()
            world.flush()
            await asyncio.gather(first, second)
            assert committed(world, "g") == 3

    run(test())


def test_offsets_survive_a_crash_as_far_as_they_were_acknowledged() -> None:
    async def test() -> World:
        async with World() as world:
            await world.create_topic("t", 2)
            await commit(world, "g", change(world, 1), change(world, 5, partition=1))
            await commit(world, "g", change(world, 2))
            world.engine.hold_flushes()
            lost = asyncio.create_task(commit(world, "g", change(world, 3)))
            await settle()
            assert not lost.done()
            lost.cancel()
        return world

    async def later(world: World) -> None:
        async with world:
            assert committed(world, "g") == 2
            assert committed(world, "g", partition=1) == 5
            group = world.groups.find("g")
            assert group is not None
            assert (group.state.value, group.protocol_type) == ("Empty", None)

    run(later(run(test()).restarted()))


def test_members_keep_their_generation_over_a_restart() -> None:
    async def test() -> tuple[World, JoinAnswer]:
        async with World() as world:
            answer = await stable(world, "g")
        return world, answer

    async def later(world: World, answer: JoinAnswer) -> None:
        async with world:
            who = Identity(answer.member_id, None)
            await world.pass_time(SESSION_MS - 1)
            assert world.groups.classic.heartbeat("g", who, answer.generation) is ErrorCode.NONE
            synced = await sync(world, "g", who, answer.generation, {})
            assert synced.assignment == b"all"
            await world.pass_time(SESSION_MS)
            assert world.groups.classic.heartbeat("g", who, answer.generation) is ErrorCode.UNKNOWN_MEMBER_ID

    world, answer = run(test())
    run(later(world.restarted(), answer))


def test_a_failed_flush_drops_what_is_in_memory() -> None:
    async def test() -> World:
        async with World() as world:
            await world.create_topic("t")
            answer = await stable(world, "g")
            who = Identity(answer.member_id, None)
            await commit(world, "g", change(world, 1), who=who, at=answer.generation)
            waiting = asyncio.create_task(join(world, "g"))
            await settle()
            world.engine.hold_flushes()
            committing = asyncio.create_task(commit(world, "g", change(world, 2), who=who, at=answer.generation))
            await settle()
            world.fail_flush(CONSUMER_OFFSETS, partition_of("g", 5))
            with pytest.raises(KafkaError) as failed:
                await committing
            assert code_of(failed) is ErrorCode.COORDINATOR_NOT_AVAILABLE
            assert (await waiting).error is ErrorCode.COORDINATOR_NOT_AVAILABLE
            with pytest.raises(KafkaError) as gone:
                world.groups.committed("g")
            assert code_of(gone) is ErrorCode.COORDINATOR_NOT_AVAILABLE
            world.engine.hold_flushes(False)
            await commit(world, "simple2", change(world, 1))  # lives in another partition
        return world

    async def later(world: World) -> None:
        async with world:
            assert committed(world, "g") == 1

    run(later(run(test()).restarted()))


def test_a_refused_append_changes_nothing() -> None:
    async def test() -> None:
        async with World() as world:
            await world.create_topic("t")
            await commit(world, "g", change(world, 1))
            log = log_of(world, "g")
            for refusal, answer in (
                (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.COORDINATOR_NOT_AVAILABLE),
                (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.INVALID_COMMIT_OFFSET_SIZE),
            ):
                log.refusal = refusal
                with pytest.raises(KafkaError) as failed:
                    await commit(world, "g", change(world, 2))
                assert code_of(failed) is answer
                with pytest.raises(KafkaError):
                    await world.groups.delete_group("g")
            log.refusal = None
            assert committed(world, "g") == 1
            await commit(world, "g", change(world, 3))
            assert committed(world, "g") == 3

    run(test())


def test_while_loading_nobody_is_served() -> None:
    async def test() -> World:
        async with World() as world:
            await world.create_topic("t")
            await commit(world, "g", change(world, 1))
        return world

    async def later(world: World) -> None:
        await world.groups.start()
        with pytest.raises(KafkaError) as loading:
            world.groups.committed("g")
        assert code_of(loading) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        with pytest.raises(KafkaError) as listing:
            world.groups.all_groups()
        assert code_of(listing) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        await world.groups.loaded()
        assert committed(world, "g") == 1
        assert [group.group_id for group in world.groups.all_groups()] == ["g"]
        await world.groups.stop()
        await world.controller.close()

    run(later(run(test()).restarted()))


def test_what_does_not_decode_is_left_alone() -> None:
    async def test() -> World:
        async with World() as world:
            await world.create_topic("t")
            await commit(world, "g", change(world, 1))
            odd = [
                NewRecord(b"\x00\x03\x00\x01g", b"\x00\x00"),
                NewRecord(b"\x00", b""),
                NewRecord(encode_key(GroupKey("broken")), b"\x00\x03\x00"),
                NewRecord(None, b"no key"),
            ]
            batch = build_batch(odd, timestamp=0)
            log_of(world, "g").append(batch, read_header(batch), 0)
        return world

    async def later(world: World) -> None:
        async with world:
            assert committed(world, "g") == 1
            assert world.groups.find("broken") is None

    run(later(run(test()).restarted()))


def test_deleting_a_group_leaves_tombstones() -> None:
    async def test() -> World:
        async with World() as world:
            await world.create_topic("t", 2)
            await commit(world, "g", change(world, 1), change(world, 2, partition=1))
            world.engine.hold_flushes()
            late = asyncio.create_task(commit(world, "g", change(world, 9)))
            await settle()
            deleting = asyncio.create_task(world.groups.delete_group("g"))
            await settle()
            assert committed(world, "g") == 1  # until the tombstones are on disk
            world.flush()
            await asyncio.gather(late, deleting)
            assert committed(world, "g") is None
            assert world.groups.find("g") is None
            tombstones = [record.key for record in log_of(world, "g").records() if record.value is None]
            assert len(tombstones) == 3
            with pytest.raises(KafkaError) as unknown:
                await world.groups.delete_group("g")
            assert code_of(unknown) is ErrorCode.GROUP_ID_NOT_FOUND
        return world

    async def later(world: World) -> None:
        async with world:
            assert world.groups.find("g") is None

    run(later(run(test()).restarted()))


def test_a_group_with_members_stays() -> None:
    async def test() -> None:
        async with World() as world:
            await stable(world, "g")
            with pytest.raises(KafkaError) as refused:
                await world.groups.delete_group("g")
            assert code_of(refused) is ErrorCode.NON_EMPTY_GROUP

    run(test())


def test_offset_delete_spares_what_is_read() -> None:
    async def test() -> None:
        async with World() as world:
            await world.create_topic("t")
            await world.create_topic("u")
            answer = await stable(world, "g")
            who = Identity(answer.member_id, None)
            await commit(world, "g", change(world, 1), change(world, 2, "u"), who=who, at=answer.generation)
            codes = await world.groups.delete_offsets("g", [("t", 0), ("u", 0)])
            assert codes == {("t", 0): ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, ("u", 0): ErrorCode.NONE}
            assert committed(world, "g") == 1
            assert committed(world, "g", "u") is None
            other = await stable(world, "k", protocol_type="connect")
            assert other.error is ErrorCode.NONE
            with pytest.raises(KafkaError) as refused:
                await world.groups.delete_offsets("k", [("t", 0)])
            assert code_of(refused) is ErrorCode.NON_EMPTY_GROUP

    run(test())


def test_deleting_a_topic_removes_its_offsets() -> None:
    async def test() -> World:
        async with World() as world:
            topic = await world.create_topic("t")
            await world.create_topic("u")
            await commit(world, "g", change(world, 1), change(world, 2, "u"))
            await commit(world, "h", change(world, 3))
            await world.controller.topics.delete([topic.topic_id])
            assert committed(world, "g") is None
            assert committed(world, "g", "u") == 2
            assert committed(world, "h") is None
        return world

    async def later(world: World) -> None:
        async with world:
            assert committed(world, "g") is None
            assert committed(world, "g", "u") == 2

    run(later(run(test()).restarted()))


def test_offsets_of_a_topic_that_was_made_again_are_not_taken_over() -> None:
    async def test() -> World:
        async with World() as world:
            topic = await world.create_topic("t")
            await commit(world, "g", change(world, 7))
            world.engine.hold_flushes()  # the tombstone does not reach the disk
            await world.controller.topics.delete([topic.topic_id])
            await world.create_topic("t")
            assert committed(world, "g") == 7
        return world

    async def later(world: World) -> None:
        world.engine.hold_flushes(False)
        async with world:
            assert committed(world, "g") is None

    run(later(run(test()).restarted()))


class TestExpiry:
    def world(self) -> World:
        return World(offsets_retention_minutes=1)

    def test_from_the_moment_the_group_is_empty(self) -> None:
        async def test() -> None:
            async with self.world() as world:
                await world.create_topic("t")
                answer = await stable(world, "g")
                who = Identity(answer.member_id, None)
                await commit(world, "g", change(world, 1), who=who, at=answer.generation)
                for _ in range(20):  # longer than the retention, but the group lives
                    await world.pass_time(SESSION_MS - 1)
                    assert world.groups.classic.heartbeat("g", who, answer.generation) is ErrorCode.NONE
                await world.groups.shards.expiry.sweep()
                assert committed(world, "g") == 1
                assert await world.groups.classic.leave("g", [who]) == (ErrorCode.NONE,)
                await world.pass_time(MINUTE_MS - 1)
                await world.groups.shards.expiry.sweep()
                assert committed(world, "g") == 1
                await world.pass_time(1)
                await world.groups.shards.expiry.sweep()
                assert committed(world, "g") is None
                assert world.groups.find("g") is None

        run(test())

    def test_from_the_commit_without_a_group(self) -> None:
        async def test() -> None:
            async with self.world() as world:
                await world.create_topic("t", 2)
                await commit(world, "g", change(world, 1))
                await world.pass_time(MINUTE_MS // 2)
                await commit(world, "g", change(world, 2, partition=1))
                await world.pass_time(MINUTE_MS // 2)
                await world.groups.shards.expiry.sweep()
                assert committed(world, "g") is None
                assert committed(world, "g", partition=1) == 2
                await world.pass_time(MINUTE_MS)
                await world.groups.shards.expiry.sweep()
                assert world.groups.find("g") is None

        run(test())

    def test_a_living_group_loses_only_what_it_no_longer_reads(self) -> None:
        async def test() -> None:
            async with self.world() as world:
                await world.create_topic("t")
                await world.create_topic("u")
                answer = await stable(world, "g", session_timeout_ms=5 * MINUTE_MS)
                who = Identity(answer.member_id, None)
                both = change(world, 1), change(world, 2, "u")
                await commit(world, "g", *both, who=who, at=answer.generation)
                await world.pass_time(MINUTE_MS)
                await world.groups.shards.expiry.sweep()
                assert committed(world, "g") == 1
                assert committed(world, "g", "u") is None

        run(test())

    def test_a_retention_of_the_clients_own(self) -> None:
        async def test() -> None:
            async with self.world() as world:
                await world.create_topic("t")
                await commit(world, "g", change(world, 1, expire_ms=world.clock.now_ms() + 5))
                await world.pass_time(5)
                await world.groups.shards.expiry.sweep()
                assert committed(world, "g") is None

        run(test())

    def test_a_group_that_somebody_is_about_to_join_stays(self) -> None:
        async def test() -> None:
            async with self.world() as world:
                answer = await join(world, "g", needs_member_id=True)
                await world.groups.shards.expiry.sweep()
                joining = asyncio.create_task(join(world, "g", answer.member_id))
                await settle()
                await world.pass_time(0)
                assert (await joining).error is ErrorCode.NONE

        run(test())


def test_a_new_group_is_stored_before_its_first_answer() -> None:
    async def test() -> None:
        async with World() as world:
            await world.groups.prepare()
            world.engine.hold_flushes()
            joining = asyncio.create_task(join(world, "g", needs_member_id=True))
            await settle()
            assert not joining.done()
            world.flush()
            assert (await joining).error is ErrorCode.MEMBER_ID_REQUIRED
            (record,) = log_of(world, "g").records()
            assert record.value is not None
            assert decode_group(record.value).members == ()

    run(test())


@pytest.mark.parametrize("session_timeout_ms", [-1, 0, 5_999, 1_800_001])
def test_session_timeouts_have_bounds(session_timeout_ms: int) -> None:
    async def test() -> None:
        async with World() as world:
            with pytest.raises(KafkaError) as refused:
                await join(world, "g", session_timeout_ms=session_timeout_ms)
            assert code_of(refused) is ErrorCode.INVALID_SESSION_TIMEOUT
            assert world.groups.find("g") is None

    run(test())


def test_limits_on_groups_and_names() -> None:
    async def test() -> None:
        async with World(groups_max=1) as world:
            await world.create_topic("t")
            await commit(world, "g", change(world, 1))
            with pytest.raises(KafkaError) as full:
                await commit(world, "h", change(world, 1))
            assert code_of(full) is ErrorCode.GROUP_MAX_SIZE_REACHED
        async with World() as world:
            await world.create_topic("t")
            await commit(world, "g" * GROUP_ID_BYTES_MAX, change(world, 1))
            long = "g" * (GROUP_ID_BYTES_MAX + 1)
            with pytest.raises(KafkaError) as long_name:
                await commit(world, long, change(world, 1))
            assert code_of(long_name) is ErrorCode.INVALID_GROUP_ID
            with pytest.raises(KafkaError) as long_name:
                await join(world, long)
            assert code_of(long_name) is ErrorCode.INVALID_GROUP_ID
            with pytest.raises(KafkaError) as long_instance:
                await join(world, "g", instance_id="i" * 40_000)
            assert code_of(long_instance) is ErrorCode.INVALID_REQUEST

    run(test())


def test_stopping_answers_those_who_wait() -> None:
    async def test() -> None:
        async with World() as world:
            await stable(world, "g")
            waiting = asyncio.create_task(join(world, "g"))
            await settle()
        assert (await waiting).error is ErrorCode.COORDINATOR_NOT_AVAILABLE
        with pytest.raises(KafkaError) as stopped:
            world.groups.committed("g")
        assert code_of(stopped) is ErrorCode.COORDINATOR_NOT_AVAILABLE

    run(test())


def test_real_time_moves_groups_too() -> None:
    async def test() -> None:
        async with World(initial_rebalance_delay_ms=0) as world:
            answer = await join(world, "g")  # the timer of the event loop ends the delay, nobody calls tick
            assert answer.generation == 1

    run(test())


@pytest.mark.feature("F-08")
def test_lags() -> None:
    async def test() -> None:
        async with World() as world:
            await world.create_topic("t", 2)
            log = world.log_of("t", 0)
            batch = build_batch([NewRecord(None, b"x")] * 10, timestamp=0)
            log.append(batch, read_header(batch), 0)
            await commit(world, "g", change(world, 4), change(world, 99, partition=1))
            assert sorted(world.groups.lags()) == [("g", "t", 0, 4, 6), ("g", "t", 1, 99, 0)]

    run(test())


@pytest.mark.feature("F-08")
def test_lags_of_a_group_open_one_log_at_a_time() -> None:
    """A group with tens of thousands of offsets is looked at in turns."""

    async def test() -> None:
        async with World() as world:
            await world.create_topic("t", 3)
            await commit(world, "g", *(change(world, 0, partition=index) for index in range(3)))
            opened = [sum(partition.topic == "t" for partition in world.partitions.opened())]
            for _ in world.groups.lags_of("g"):
                opened.append(sum(partition.topic == "t" for partition in world.partitions.opened()))
                await commit(world, "h", change(world, 1))  # others go on meanwhile
            assert opened == [0, 1, 2, 3]

    run(test())


def test_lines_about_a_group_are_bounded_and_its_name_is_cut(caplog: pytest.LogCaptureFixture) -> None:
    name = "g" * GROUP_ID_BYTES_MAX

    async def test() -> None:
        async with World() as world:
            for _ in range(30):
                answer = await stable(world, name)
                assert await world.groups.classic.leave(name, [Identity(answer.member_id, None)]) == (ErrorCode.NONE,)
            await stable(world, "other")

    with caplog.at_level(logging.INFO, "penstock.broker.groups"):
        run(test())
    lines = [line for line in caplog.messages if line.startswith("group ")]
    assert [name in line for line in lines].count(True) == 0
    assert len([line for line in lines if line.startswith(f"group {name[:249]}: generation")]) == LINES_OF_GROUP_MAX
    assert "group other: generation 1 with 1 member" in caplog.text


def test_commits_that_are_too_large_are_told_once(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with World() as world:
            await world.create_topic("t")
            await commit(world, "g", change(world, 1))
            log_of(world, "g").refusal = ErrorCode.MESSAGE_TOO_LARGE
            for _ in range(5):
                with pytest.raises(KafkaError):
                    await commit(world, "g", change(world, 2))

    run(test())
    assert len([line for line in caplog.messages if "refused" in line]) == 1


@pytest.mark.parametrize("is_commit", [True, False])
def test_a_transaction_that_ends_while_its_group_is_being_loaded(is_commit: bool) -> None:
    """Its marker may lie behind what is read of the log."""

    async def test() -> None:
        producer = ProducerIdentity(7, 0)
        async with World() as world:
            await world.create_topic("t")
            await commit(world, "g", change(world, 1))
            await world.groups.commit_in_transaction("g", NO_MEMBER, [change(world, 5)], producer)
            assert world.groups.is_pending("g", "t", 0)
        world = world.restarted()
        await world.groups.start()
        world.groups.end_transaction(partition_of("g", 5), Marker(7, 0, 0, is_commit))
        with pytest.raises(KafkaError):
            world.groups.committed("g")
        await world.groups.loaded()
        assert not world.groups.is_pending("g", "t", 0)
        assert committed(world, "g") == (5 if is_commit else 1)
        await world.groups.stop()

    run(test())
