"""The table of transactional ids, and that sweeps over it do not look at ids which rest."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from penstock.broker.transactions.coordinator import TransactionCoordinator
from penstock.broker.transactions.expiry import FORGOTTEN_PER_SWEEP
from penstock.broker.transactions.producer_ids import ProducerIds
from penstock.broker.transactions.states import TransactionState
from penstock.broker.transactions.table import TransactionTable
from penstock.broker.transactions.transaction import ProducerIdentity, Transaction
from penstock.model.topic_partition import TopicPartition
from tests.support.group_world import World, run

pytestmark = pytest.mark.feature("K-07")

S = TransactionState
IDLE_IDS = 100_000


def resting(name: str, update_ms: int, state: TransactionState = S.COMPLETE_COMMIT) -> Transaction:
    return Transaction(transactional_id=name, producer_id=7, epoch=0, timeout_ms=10, state=state, update_ms=update_ms)


def ongoing(name: str, start_ms: int) -> Transaction:
    return resting(name, start_ms, S.ONGOING)._replace(start_ms=start_ms)


def names(values: list[Transaction]) -> list[str]:
    return [value.transactional_id for value in values]


def test_the_last_value_of_an_id_counts() -> None:
    table = TransactionTable()
    assert table.get("a") is None
    for state in (S.EMPTY, S.ONGOING, S.PREPARE_COMMIT, S.COMPLETE_COMMIT, S.PREPARE_ABORT, S.COMPLETE_ABORT):
        value = resting("a", 0, state)
        table.put(value)
        assert table.get("a") is value
        assert list(table) == [value]
        assert len(table) == 1
        assert table.open() == ([] if state in (S.EMPTY, S.COMPLETE_COMMIT, S.COMPLETE_ABORT) else [value])
    table.discard("a")
    table.discard("never seen")
    assert (len(table), table.get("a")) == (0, None)


def test_open_ones_are_overdue_when_their_time_is_over() -> None:
    table = TransactionTable()
    for value in (resting("rests", 0), ongoing("old", 0), ongoing("new", 50), resting("ends", 0, S.PREPARE_ABORT)):
        table.put(value)
    assert names(table.overdue(10)) == []
    assert names(table.overdue(11)) == ["old"]
    assert names(table.overdue(1000)) == ["old", "new"]


def test_the_longest_unused_are_found_first() -> None:
    table = TransactionTable()
    for at, name in enumerate(("a", "b", "c", "d")):
        table.put(resting(name, at))
    table.put(ongoing("b", 4))
    table.put(resting("a", 5))
    assert names(table.unused(102, 100, 9)) == ["c"]
    assert names(table.unused(103, 100, 9)) == ["c", "d"]
    table.put(resting("b", 6))
    assert names(table.unused(106, 100, 3)) == ["c", "d", "a"]
    assert names(table.unused(106, 100, 9)) == ["c", "d", "a", "b"]


def test_a_clock_that_was_set_back_makes_nothing_expire_early() -> None:
    table = TransactionTable()
    for name, update_ms in (("a", 50), ("b", 10)):
        table.put(resting(name, update_ms))
    assert table.unused(149, 100, 9) == []
    assert names(table.unused(150, 100, 9)) == ["a", "b"]


# --- sweeps --------------------------------------------------------------------------------------------------------


class Watched(Transaction):
    """A mapping that knows which of its entries were read."""

    __slots__ = ()
    visited: ClassVar[set[int]] = set()

    def __getattribute__(self, name: str) -> Any:
        Watched.visited.add(id(self))
        return super().__getattribute__(name)


def coordinator_of(world: World) -> TransactionCoordinator:
    async def next_block(size: int) -> int:
        return world.store.producer_ids.next_block(size)

    return TransactionCoordinator(
        settings=world.settings.transactions,
        partitions=world.partitions,
        topics=world.topics,
        controller=world.controller,
        clock=world.clock,
        producer_ids=ProducerIds(next_block),
        on_offsets_ended=world.groups.end_transaction,
    )


def test_sweeps_do_not_look_at_ids_that_rest() -> None:
    async def scenario() -> None:
        async with World() as world:
            coordinator = coordinator_of(world)
            await coordinator.start()
            try:
                await coordinator.prepare()
                now_ms = world.clock.now_ms()
                for number in range(IDLE_IDS):
                    shard = coordinator.shard_of(f"idle-{number}")
                    assert shard is not None
                    shard.transactions.put(
                        Watched(transactional_id=f"idle-{number}", producer_id=number, update_ms=now_ms)
                    )
                identity = await coordinator.init_producer_id("busy", 1000, None)
                await coordinator.add_partitions("busy", identity, [TopicPartition("deleted", 0)], version=1)
                assert coordinator.id_count == IDLE_IDS + 1

                Watched.visited.clear()
                world.clock.time_ms += 1001
                await coordinator.expiry.abort_overdue()
                assert coordinator.find("busy")[1].state is S.COMPLETE_ABORT
                assert (coordinator.open(), coordinator.oldest_seconds) == ([], 0.0)
                assert not Watched.visited
                coordinator.expiry.forget_unused()
                assert len(Watched.visited) <= world.settings.transactions.topic_partitions  # the first of each shard
                assert coordinator.id_count == IDLE_IDS + 1
            finally:
                await coordinator.stop()

    run(scenario())


def test_unused_ids_are_forgotten_a_few_at_a_time() -> None:
    async def scenario() -> None:
        async with World() as world:
            coordinator = coordinator_of(world)
            await coordinator.start()
            try:
                for number in range(20):
                    await coordinator.init_producer_id(f"id-{number}", 1000, None)
                world.clock.time_ms += world.settings.transactions.id_expiration_ms - 1
                identity = await coordinator.init_producer_id("id-3", 1000, None)
                assert identity == ProducerIdentity(identity.producer_id, 1)
                coordinator.expiry.forget_unused()
                assert coordinator.id_count == 20
                world.clock.time_ms += 1
                sweeps = 0
                while coordinator.id_count > 1:
                    before = coordinator.id_count
                    coordinator.expiry.forget_unused()
                    sweeps += 1
                    shards = world.settings.transactions.topic_partitions
                    assert 0 < before - coordinator.id_count <= FORGOTTEN_PER_SWEEP * shards
                assert sweeps >= 1
                assert names(list(coordinator.all_transactions())) == ["id-3"]
            finally:
                await coordinator.stop()

    run(scenario())
