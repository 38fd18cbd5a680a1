"""Loading a shard: the newest record of each id counts, and nothing is served from a log that cannot be read."""

from __future__ import annotations

import pytest

from penstock.broker.coordination.coordinator_log import READ_BYTES, CoordinatorState
from penstock.broker.transactions import records
from penstock.broker.transactions.shard import TransactionShard
from penstock.broker.transactions.states import TransactionState
from penstock.broker.transactions.transaction import Transaction
from penstock.model.batch import HEADER_BYTES
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.control_record import Marker, build_marker
from penstock.model.errors import ErrorCode
from penstock.model.topic_partition import TopicPartition
from tests.support.group_world import World, run

pytestmark = pytest.mark.feature("K-07")

NOW_MS = 1_700_000_000_000


def value(name: str, epoch: int) -> Transaction:
    return Transaction(
        transactional_id=name,
        producer_id=7,
        epoch=epoch,
        timeout_ms=60_000,
        state=TransactionState.ONGOING,
        partitions=frozenset({TopicPartition("t", epoch)}),
        start_ms=NOW_MS,
        update_ms=NOW_MS,
        version=2,
    )


def item(name: str, epoch: int | None) -> NewRecord:
    return NewRecord(records.encode_key(name), None if epoch is None else records.encode_value(value(name, epoch)))


class Log:
    """The records from which a shard is loaded."""

    def __init__(self, world: World) -> None:
        self.partition = world.partitions.get("state", 0)
        self._writer = TransactionShard(self.partition)

    def append(self, batch: bytearray) -> None:
        outcomes: list[ErrorCode] = []
        self._writer.append_batch(batch, NOW_MS, outcomes.append)
        assert outcomes == [ErrorCode.NONE]

    def add(self, *items: NewRecord, codec: int = 0) -> None:
        self.append(build_batch(items, timestamp=NOW_MS, codec=codec))

    async def loaded(self) -> TransactionShard:
        shard = TransactionShard(self.partition)
        await shard.load()
        return shard


def test_the_newest_record_of_each_id_counts() -> None:
    async def test() -> None:
        async with World() as world:
            await world.create_topic("state")
            log = Log(world)
            for epoch in range(5_000):  # some pieces, and some turns
                log.add(item("a", epoch))
            log.add(item("b", 1), item("c", 1), item("a", 5_000))
            log.add(item("b", None))
            log.add(item("d", 1), item("d", None), item("d", 2))
            assert world.log_of("state", 0).size_bytes > READ_BYTES
            shard = await log.loaded()
            assert shard.state is CoordinatorState.ACTIVE
            assert list(shard.transactions) == [value("c", 1), value("a", 5_000), value("d", 2)]

    run(test())


def test_what_is_no_transaction_is_passed_over(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with World() as world:
            await world.create_topic("state")
            log = Log(world)
            log.append(build_marker(Marker(7, 0, 0, is_commit=True), NOW_MS))
            log.add(item("a", 1), NewRecord(None, b"x"), NewRecord(b"\x00\x63later", b"x"), codec=4)
            shard = await log.loaded()
            assert shard.state is CoordinatorState.ACTIVE
            assert list(shard.transactions) == [value("a", 1)]
            assert "state-0: 2 keys were not understood" in caplog.text

    run(test())


def test_a_value_that_is_not_understood_is_not_passed_over() -> None:
    """It may be a decision, and the one before it in the log does not count any more."""

    async def test() -> None:
        async with World() as world:
            await world.create_topic("state")
            log = Log(world)
            log.add(item("a", 1), item("b", 1))
            log.add(NewRecord(records.encode_key("b"), b"\x00\x63"))
            shard = await log.loaded()
            assert shard.state is CoordinatorState.FAILED

    run(test())


def test_a_log_that_does_not_decode_is_not_served() -> None:
    async def test() -> None:
        async with World() as world:
            await world.create_topic("state")
            log = Log(world)
            log.add(item("a", 1))
            broken = build_batch([item("a", 2)], timestamp=NOW_MS)
            broken[HEADER_BYTES] = 0xFE  # its first record is longer than the batch
            log.append(broken)
            shard = await log.loaded()
            assert shard.state is CoordinatorState.FAILED
            assert list(shard.transactions) == []

    run(test())
