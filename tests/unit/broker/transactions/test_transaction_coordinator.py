"""The coordinator when its records or markers are refused, logs fail, time passes and processes die."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from penstock.broker.coordination.coordinator_log import CoordinatorState, Outcome
from penstock.broker.produce.transactional import ADDING_VERSION, joining
from penstock.broker.transactions import markers, records
from penstock.broker.transactions.states import TransactionState
from penstock.broker.transactions.transaction import EPOCH_MAX, ProducerIdentity
from penstock.cluster.partition import Partition
from penstock.config.settings import TransactionSettings
from penstock.model.batch import read_header
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.control_record import Marker
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.limits import TRANSACTIONAL_ID_BYTES_MAX
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.turns import at_once
from tests.support.group_world import run, settle
from tests.support.transaction_world import Outcomes, TransactionWorld

FIRST, SECOND = 1, 2
A, B = TopicPartition("topic", 0), TopicPartition("topic", 1)
TIMEOUT_MS = 1000


async def begun(world: TransactionWorld, *places: TopicPartition, version: int = SECOND) -> ProducerIdentity:
    """A producer with an open transaction, a batch in each place."""
    await world.create_topic("topic", 2)
    sender = await world.transactions.init_producer_id("tx", TIMEOUT_MS, None)
    await world.transactions.add_partitions("tx", sender, places, version)
    for place in places:
        world.write(place, sender)
    return sender


def join(
    world: TransactionWorld,
    version: int,
    transactional_id: str,
    sender: ProducerIdentity,
    partitions: Sequence[Partition],
    told: Outcome,
) -> bool:
    """As a Produce request with few partitions does."""
    return at_once(joining(world.transactions, version, transactional_id, sender, partitions, told))


async def at_epoch(world: TransactionWorld, epoch: int) -> ProducerIdentity:
    """The same, near the end of the epochs."""
    sender = await begun(world)
    shard, value = world.transactions.find("tx")
    shard.transactions.put(value._replace(epoch=epoch))
    sender = ProducerIdentity(sender.producer_id, epoch)
    await world.transactions.add_partitions("tx", sender, [A], SECOND)
    world.write(A, sender)
    return sender


def test_ids_have_a_most_and_a_length_and_those_that_are_known_go_on() -> None:
    async def test() -> None:
        async with TransactionWorld(settings=TransactionSettings(topic_partitions=2, ids_max=3)) as world:
            init = world.transactions.init_producer_id
            for transactional_id in ("x" * 1_025, "ü" * 513, "x" * 30_000):
                with pytest.raises(KafkaError) as refused:
                    await init(transactional_id, TIMEOUT_MS, None)
                assert refused.value.code is ErrorCode.INVALID_REQUEST
            known = ["x" * 1_024, "a", "b"]
            first = [await init(each, TIMEOUT_MS, None) for each in known]
            with pytest.raises(KafkaError) as refused:
                await init("c", TIMEOUT_MS, None)
            assert refused.value.code is ErrorCode.POLICY_VIOLATION
            again = [await init(each, TIMEOUT_MS, None) for each in known]
            assert [each.producer_id for each in again] == [each.producer_id for each in first]
            world.clock.time_ms += 604_800_001  # the running node forgets them, and there is room
            world.transactions.expiry.forget_unused()
            assert (await init("c", TIMEOUT_MS, None)).epoch == 0

    run(test())


@pytest.mark.feature("K-07")
def test_a_partition_whose_record_is_refused_is_not_in_the_transaction() -> None:
    async def test() -> None:
        async with TransactionWorld() as world:
            sender = await begun(world, A)
            world.state_log("tx").refusal = ErrorCode.KAFKA_STORAGE_ERROR
            partition, told = world.partitions.get(*B), Outcomes()
            assert not join(world, ADDING_VERSION, "tx", sender, [partition], told)
            assert told == [ErrorCode.KAFKA_STORAGE_ERROR]
            assert world.of("tx").partitions == {A}
            world.state_log("tx").refusal = None
            join(world, ADDING_VERSION, "tx", sender, [partition], told)
            assert world.of("tx").partitions == {A, B}

    run(test())


def test_first_generation_a_batch_comes_under_the_transactional_id_of_its_producer() -> None:
    """Where its transaction is open in the log, too: who may write under a name may not under another."""

    async def test() -> None:
        async with TransactionWorld() as world:
            sender = await begun(world, A, version=FIRST)
            await world.transactions.init_producer_id("other", TIMEOUT_MS, None)
            partition, told = world.partitions.get(*A), Outcomes()

            def joined(name: str) -> ErrorCode:
                try:
                    assert join(world, ADDING_VERSION - 1, name, sender, [partition], told)
                except KafkaError as error:
                    return error.code
                return ErrorCode.NONE

            assert joined("tx") is ErrorCode.NONE
            for name, code in (
                ("other", ErrorCode.INVALID_PRODUCER_ID_MAPPING),
                ("unknown", ErrorCode.INVALID_PRODUCER_ID_MAPPING),
                ("", ErrorCode.INVALID_REQUEST),
            ):
                assert joined(name) is code
            shard = world.transactions.shard_of("tx")
            assert shard is not None
            shard.forget_all()
            shard.state = CoordinatorState.LOADING  # as after a restart: whose producer it is, is not known yet
            assert joined("tx") is ErrorCode.NOT_ENOUGH_REPLICAS
            assert told == []

    run(test())


def test_that_a_batch_is_in_the_log_does_not_make_its_partition_part_of_the_transaction() -> None:
    async def test() -> None:
        async with TransactionWorld() as world:
            sender = await begun(world, A)
            world.write(B, sender)  # as if the coordinator's record had been lost
            partition, told = world.partitions.get(*B), Outcomes()
            join(world, ADDING_VERSION, "tx", sender, [partition], told)
            assert world.of("tx").partitions == {A, B}

    run(test())


def test_a_request_sent_again_waits_for_the_record_of_the_first() -> None:
    async def test() -> None:
        async with TransactionWorld() as world:
            sender = await begun(world, A)
            world.engine.hold_flushes()
            partition, first, again = world.partitions.get(*B), Outcomes(), Outcomes()
            assert not join(world, ADDING_VERSION, "tx", sender, [partition], first)
            assert not join(world, ADDING_VERSION, "tx", sender, [partition], again)
            assert (first, again) == ([], [])
            world.flush()
            assert (first, again) == ([ErrorCode.NONE], [ErrorCode.NONE])
            assert join(world, ADDING_VERSION, "tx", sender, [partition], again)

    run(test())


def test_after_a_failed_flush_nobody_is_told_that_all_is_well() -> None:
    async def test() -> None:
        async with TransactionWorld() as world:
            sender = await begun(world, A)
            shard = world.transactions.shard_of("tx")
            assert shard is not None
            world.engine.hold_flushes()
            partition, told = world.partitions.get(*B), Outcomes()
            join(world, ADDING_VERSION, "tx", sender, [partition], told)
            world.write(B, sender)
            world.fail_flush(shard.partition.topic, shard.partition.index)
            assert told == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
            for place in (A, B):
                partition = world.partitions.get(*place)
                with pytest.raises(KafkaError) as refused:
                    join(world, ADDING_VERSION, "tx", sender, [partition], told)
                assert refused.value.code is ErrorCode.COORDINATOR_NOT_AVAILABLE
            with pytest.raises(KafkaError):
                await world.transactions.end("tx", sender, commit=True, version=SECOND)

    run(test())


@pytest.mark.parametrize("version", [FIRST, SECOND])
def test_what_a_crash_left_open_is_not_committed_with_the_next_transaction(version: int) -> None:
    """The batch reached the disk, the coordinator's record of it did not."""

    async def test() -> None:
        async with TransactionWorld() as world:
            sender = await begun(world, A)
            world.write(B, sender)
        async with world.restarted() as again:
            follower = await _init(again)
            await again.transactions.add_partitions("tx", follower, [B], version)
            assert [(each.is_commit, each.producer_epoch) for each in again.log(B).markers] == [(False, 1)]
            again.write(B, follower)
            await again.transactions.end("tx", follower, commit=True, version=version)
            await settle()
            assert [each.is_commit for each in again.log(B).markers] == [False, True]
            assert again.of("tx").state is TransactionState.COMPLETE_COMMIT

    run(test())


@pytest.mark.parametrize("commit", [True, False])
def test_what_came_after_an_end_that_is_finished_again_is_not_ended_with_it(commit: bool) -> None:
    """The end is complete in memory, and the next transaction's first batch on disk; its record goes with the power."""

    async def test() -> None:
        async with TransactionWorld() as world:
            sender = await begun(world, A, B)
            world.engine.hold_flushes()
            ending = asyncio.create_task(world.transactions.end("tx", sender, commit=commit, version=SECOND))
            await settle()
            waiting = asyncio.create_task(world.transactions.completions.wait("tx"))  # for the next one, by Produce v12
            for _ in range(3):  # the decision, the markers
                await settle()
                world.flush()
            following = await ending
            await waiting
            world.write(A, following)
            world.flush()
            world.engine.hold_flushes(False)
        async with world.restarted() as again:
            await settle()
            assert again.of("tx").state in (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)
            assert [marker.is_commit for marker in again.log(A).markers] == [commit, False]
            assert again.log(A).markers[-1].producer_epoch == following.epoch + 1
            assert {marker.is_commit for marker in again.log(B).markers} == {commit}
            assert not again.log(A).open_transactions()
            with pytest.raises(KafkaError) as refused:
                again.write(A, following)  # sent again: it hears that it is not in the log any more
            assert refused.value.code is ErrorCode.INVALID_PRODUCER_EPOCH

    run(test())


def test_a_batch_of_a_new_epoch_does_not_join_a_transaction_of_an_older_one() -> None:
    async def test() -> None:
        async with TransactionWorld() as world:
            sender = await begun(world, A)
            with pytest.raises(KafkaError) as refused:
                world.write(A, sender._replace(epoch=sender.epoch + 1))
            assert refused.value.code is ErrorCode.INVALID_TXN_STATE

    run(test())


def test_a_complete_record_that_is_refused_is_written_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.broker.transactions.completion.RETRY_SECONDS", 0.01)

    async def test() -> None:
        async with TransactionWorld() as world:
            sender = await begun(world, A)
            world.engine.hold_flushes()
            ending = asyncio.ensure_future(world.transactions.end("tx", sender, commit=True, version=SECOND))
            await settle()
            world.flush()  # the prepare record
            await ending
            world.state_log("tx").refusal = ErrorCode.KAFKA_STORAGE_ERROR
            world.engine.hold_flushes(hold=False)
            world.flush()  # the marker
            await asyncio.sleep(0.05)
            assert world.of("tx").state is TransactionState.PREPARE_COMMIT
            world.state_log("tx").refusal = None
            await world.transactions.completions.wait("tx")
            assert world.of("tx").state is TransactionState.COMPLETE_COMMIT

    run(test())


def test_a_marker_that_is_refused_is_not_taken_for_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markers, "FENCED_RETRY_SECONDS", 0.01)

    async def test() -> None:
        async with TransactionWorld() as world:
            sender = await begun(world, A, B)
            world.log(B).append_marker(Marker(sender.producer_id, EPOCH_MAX, 0, is_commit=False), 0)  # a forged one
            await world.transactions.end("tx", sender, commit=True, version=SECOND)
            await asyncio.sleep(0.05)
            assert world.of("tx").state is TransactionState.PREPARE_COMMIT
            assert [each.is_commit for each in world.log(A).markers] == [True]

    run(test())


def test_a_marker_from_outside_with_a_high_coordinator_epoch_does_not_stop_later_ones() -> None:
    async def test() -> None:
        async with TransactionWorld() as world:
            sender = await begun(world, A)
            world.log(B).append_marker(Marker(sender.producer_id, sender.epoch, 0x7FFFFFFF, is_commit=False), 0)
            await world.transactions.add_partitions("tx", sender, [B], SECOND)
            world.write(B, sender)
            await world.transactions.end("tx", sender, commit=True, version=SECOND)
            await settle()
            assert world.of("tx").state is TransactionState.COMPLETE_COMMIT
            assert [each.is_commit for each in world.log(B).markers] == [False, True]

    run(test())


def test_a_timeout_at_the_last_epoch_goes_on_with_a_new_producer_id() -> None:
    async def test() -> None:
        async with TransactionWorld() as world:
            sender = await at_epoch(world, EPOCH_MAX - 1)
            world.clock.time_ms += TIMEOUT_MS + 1
            await world.transactions.expiry.abort_overdue()
            await settle()
            value = world.of("tx")
            assert (value.state, value.epoch) == (TransactionState.COMPLETE_ABORT, 0)
            assert value.producer_id != sender.producer_id
            told = await world.transactions.end("tx", sender, commit=False, version=SECOND)
            assert told == value.identity
            await world.transactions.add_partitions("tx", told, [A], SECOND)
            assert [each.producer_epoch for each in world.log(A).markers] == [EPOCH_MAX]

    run(test())


def test_lines_about_timeouts_are_bounded_and_ids_are_cut(caplog: pytest.LogCaptureFixture) -> None:
    """A client may open as many transactions as it likes, for a millisecond each."""
    name = "x" * TRANSACTIONAL_ID_BYTES_MAX

    async def test() -> None:
        async with TransactionWorld() as world:
            await world.create_topic("topic", 2)
            for _ in range(3):
                sender = await world.transactions.init_producer_id(name, 1, None)
                await world.transactions.add_partitions(name, sender, [A], SECOND)
                world.clock.time_ms += 2
                await world.transactions.expiry.abort_overdue()
                await settle()
            assert world.transactions.completions.ends.timed_out == 3

    run(test())
    assert caplog.messages == [f"{name[:249]}: aborted, it was open for more than 1 ms"]


def test_nobody_gets_in_with_the_epoch_that_no_client_has() -> None:
    async def test() -> None:
        async with TransactionWorld() as world:
            sender = await begun(world)
            shard, value = world.transactions.find("tx")
            shard.transactions.put(value._replace(epoch=EPOCH_MAX))
            forged = sender._replace(epoch=EPOCH_MAX)
            for attempt in (
                world.transactions.add_partitions("tx", forged, [A], SECOND),
                world.transactions.end("tx", forged, commit=False, version=SECOND),
            ):
                with pytest.raises(KafkaError) as refused:
                    await attempt
                assert refused.value.code is ErrorCode.PRODUCER_FENCED

    run(test())


def test_a_stranger_at_an_exhausted_id_uses_no_producer_id_up() -> None:
    async def test() -> None:
        async with TransactionWorld() as world:
            sender = await at_epoch(world, EPOCH_MAX - 1)
            for _ in range(5):
                with pytest.raises(KafkaError):
                    await world.transactions.end("tx", sender._replace(epoch=3), commit=True, version=SECOND)
            told = await world.transactions.end("tx", sender, commit=True, version=SECOND)
            assert told == ProducerIdentity(sender.producer_id + 1, 0)

    run(test())


def test_one_bad_transaction_does_not_keep_others_from_their_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.broker.transactions.expiry.SWEEP_SECONDS", 0.01)

    async def test() -> None:
        async with TransactionWorld() as world:
            await begun(world, A)
            calls = []
            healthy = world.transactions.expiry.abort_overdue

            async def failing() -> None:
                calls.append(1)
                if len(calls) == 1:
                    raise RuntimeError("whatever it is")
                await healthy()

            monkeypatch.setattr(world.transactions.expiry, "abort_overdue", failing)
            world.clock.time_ms += TIMEOUT_MS + 1
            await asyncio.sleep(0.2)
            assert world.of("tx").state is TransactionState.COMPLETE_ABORT
            assert len(calls) > 1

    run(test())


def test_an_id_that_nobody_uses_is_forgotten_and_stays_so() -> None:
    async def test() -> None:
        async with TransactionWorld() as world:
            await begun(world, A)
            await world.transactions.init_producer_id("idle", TIMEOUT_MS, None)
            world.clock.time_ms += 604_800_000
            world.transactions.expiry.forget_unused()
            with pytest.raises(KafkaError):
                world.transactions.find("idle")
            assert world.of("tx").state is TransactionState.ONGOING
        async with world.restarted() as again:
            with pytest.raises(KafkaError):
                again.transactions.find("idle")

    run(test())


async def _init(world: TransactionWorld) -> ProducerIdentity:
    """As a client does: again while what was open before is being aborted."""
    for _ in range(10):
        try:
            return await world.transactions.init_producer_id("tx", TIMEOUT_MS, None)
        except KafkaError as error:
            if error.code is not ErrorCode.CONCURRENT_TRANSACTIONS:
                raise
    raise AssertionError("it is never ready")


def test_a_decision_that_cannot_be_read_is_not_undone() -> None:
    """Its record is of a version that is not known: the id is unavailable, and its transaction stays as it is."""

    async def test() -> None:
        async with TransactionWorld() as world:
            sender = await begun(world, A)
            key = records.encode_key("tx")
            value = bytearray(records.encode_value(world.of("tx")))
            value[:2] = b"\x00\x7f"
            batch = build_batch([NewRecord(key, bytes(value))], timestamp=world.clock.now_ms())
            world.state_log("tx").append(batch, read_header(batch), world.clock.now_ms())
        async with world.restarted() as again:
            with pytest.raises(KafkaError) as refused:
                await again.transactions.end("tx", sender, commit=True, version=SECOND)
            assert refused.value.code is ErrorCode.COORDINATOR_NOT_AVAILABLE
            again.partitions.get(*A)
            await settle()
            assert again.log(A).markers == []
            assert [each.producer_id for each in again.log(A).open_transactions()] == [sender.producer_id]

    run(test())


@pytest.mark.feature("K-07")
def test_by_hand_the_transaction_that_was_looked_at_is_aborted_or_none() -> None:
    async def test() -> None:
        async with TransactionWorld() as world:
            sender = await begun(world, A, B)
            looked_at = world.of("tx")
            assert (await world.transactions.abort(looked_at)).state in (
                TransactionState.PREPARE_ABORT,
                TransactionState.COMPLETE_ABORT,
            )
            await settle()
            assert [marker.is_commit for marker in world.log(A).markers] == [False]
            assert world.log(A).stable_end(world.log(A).flushed) == world.log(A).flushed
            with pytest.raises(KafkaError) as refused:
                await world.transactions.abort(looked_at)
            assert refused.value.code is ErrorCode.INVALID_TXN_STATE
            with pytest.raises(KafkaError):
                await world.transactions.end("tx", sender, commit=True, version=SECOND)

    run(test())


@pytest.mark.feature("K-07")
def test_by_hand_only_what_nobody_coordinates_is_ended_in_a_partition() -> None:
    async def test() -> None:
        async with TransactionWorld() as world:
            sender = await begun(world, A)
            stranger = ProducerIdentity(sender.producer_id + 50, 3)
            world.write(B, stranger)
            ((partition, found),) = world.transactions.hanging
            assert (partition.index, found.producer_id) == (B.partition, stranger.producer_id)
            for place, producer_id in ((A, sender.producer_id), (B, sender.producer_id), (A, stranger.producer_id)):
                with pytest.raises(KafkaError) as refused:
                    await world.transactions.hanging.abort(place, producer_id)
                assert refused.value.code is ErrorCode.INVALID_TXN_STATE
            await world.transactions.hanging.abort(B, stranger.producer_id)
            (marker,) = world.log(B).markers
            assert (marker.producer_id, marker.producer_epoch, marker.is_commit) == (stranger.producer_id, 4, False)
            assert list(world.transactions.hanging) == []
            assert world.of("tx").state is TransactionState.ONGOING

    run(test())
