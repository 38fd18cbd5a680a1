"""Roles of a partition, and what happens when they change while it lives."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.cluster.partition import Partition
from penstock.cluster.role import Follower, Leader, Mirror, Role
from penstock.model.batch import read_header
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.control_record import Marker
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.ids import NO_EPOCH, PartitionId
from penstock.storage.interface import Log
from tests.support.engine_bench import TOPIC, EngineBench, MemoryBench

NOW_MS = 1_000_000
Bench = EngineBench | MemoryBench


class Replica:
    """A partition over a real engine, in whatever role."""

    def __init__(self, bench: Bench, role: Role) -> None:
        self.bench = bench
        bench.create("t", TOPIC)
        self.partition = Partition("t", PartitionId(TOPIC, 0), bench.engine.log(PartitionId(TOPIC, 0)), role)
        bench.on_flushed = self._on_flushed  # type: ignore[method-assign]
        bench.start()
        self.told: list[tuple[str, ErrorCode]] = []
        self.woken = 0
        self.partition.add_data_waiter(self._wake)

    def _on_flushed(self, log: Log) -> None:
        self.partition.log_advanced()

    def _wake(self) -> None:
        self.woken += 1

    def append(self, value: bytes = b"v") -> int:
        batch = build_batch([NewRecord(None, value, (), NOW_MS)], timestamp=NOW_MS)
        return self.partition.append(batch, read_header(batch), NOW_MS).last_offset

    def append_mirrored(self, offset: int, epoch: int, value: bytes = b"v") -> None:
        batch = build_batch([NewRecord(None, value, (), NOW_MS)], timestamp=NOW_MS)
        batch[0:8] = offset.to_bytes(8, "big")
        batch[12:16] = epoch.to_bytes(4, "big", signed=True)
        self.partition.append_mirrored(batch, read_header(batch), NOW_MS)

    def wait(self, last_offset: int) -> None:
        self.partition.when_visible(last_offset, lambda code: self.told.append(("visible", code)))
        self.partition.when_stored(last_offset, lambda code: self.told.append(("stored", code)))

    def epochs(self) -> list[int]:
        """Leader epochs in the batches of the log."""
        found, offset = [], 0
        while offset < self.partition.high_watermark:
            piece = self.partition.read(offset, 1, one_batch_at_least=True, wait=True)
            found.append(read_header(piece.records).leader_epoch)
            offset = piece.next_offset
        return found


@pytest.fixture(params=["disk", "memory"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    return EngineBench(tmp_path) if request.param == "disk" else MemoryBench()


def refused(error: pytest.ExceptionInfo[KafkaError]) -> ErrorCode:
    return error.value.code


def test_a_leader_serves_clients_and_copies_nobody(bench: Bench) -> None:
    replica = Replica(bench, Leader(3))
    replica.append()
    with pytest.raises(KafkaError) as error:
        replica.append_mirrored(1, 3)
    assert refused(error) is ErrorCode.INVALID_REQUEST
    bench.settle()
    assert (replica.partition.high_watermark, replica.partition.failed, replica.partition.leader_epoch) == (1, False, 3)


def test_a_leader_fences_by_epoch(bench: Bench) -> None:
    partition = Replica(bench, Leader(3)).partition
    partition.check_epoch(NO_EPOCH)
    partition.check_epoch(3)
    for claimed, code in ((2, ErrorCode.FENCED_LEADER_EPOCH), (4, ErrorCode.UNKNOWN_LEADER_EPOCH)):
        with pytest.raises(KafkaError) as error:
            partition.check_epoch(claimed)
        assert refused(error) is code


def test_a_mirror_is_read_by_clients_and_written_by_the_pipe_alone(bench: Bench) -> None:
    replica = Replica(bench, Mirror())
    partition = replica.partition
    marker = Marker(1, 0, 0, is_commit=True)
    batch = build_batch([NewRecord(None, b"v", (), NOW_MS)], timestamp=NOW_MS)
    for append in (
        lambda: replica.append(),
        lambda: partition.append_trusted(batch, read_header(batch), NOW_MS).last_offset,
        lambda: partition.append_marker(marker, NOW_MS).last_offset,
    ):
        with pytest.raises(KafkaError) as error:
            append()
        assert refused(error) is ErrorCode.POLICY_VIOLATION
    replica.append_mirrored(0, 7)
    bench.settle()
    assert (partition.mirror, partition.failed, partition.leader_epoch, partition.high_watermark) == (
        True, False, NO_EPOCH, 1,
    )  # fmt: skip
    partition.check_epoch(99)
    assert replica.epochs() == [7]


def test_a_follower_sends_clients_to_its_leader(bench: Bench) -> None:
    replica = Replica(bench, Follower(3))
    partition = replica.partition
    with pytest.raises(KafkaError) as error:
        replica.append()
    assert refused(error) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (partition.failed, partition.failure) == (True, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    replica.append_mirrored(0, 3)
    replica.wait(0)
    assert replica.told == [("visible", ErrorCode.NOT_LEADER_OR_FOLLOWER)]
    bench.settle()
    assert replica.told[1:] == [("stored", ErrorCode.NONE)], "what it acknowledges to its leader"
    assert partition.high_watermark == 0, "which its leader tells it"


def test_waiters_of_a_leader_that_becomes_a_follower_are_told(bench: Bench) -> None:
    replica = Replica(bench, Leader(3))
    replica.append()
    replica.wait(0)
    assert replica.told == []
    kept = [replica.partition.last_batch]
    replica.partition.become_follower(4)
    assert sorted(replica.told) == [
        ("stored", ErrorCode.NOT_LEADER_OR_FOLLOWER),
        ("visible", ErrorCode.NOT_LEADER_OR_FOLLOWER),
    ]
    assert replica.woken == 1, "parked fetches look again, and are refused"
    kept.append(replica.partition.last_batch)
    assert [batch is None for batch in kept] == [False, True], "what it holds may be cut off"
    bench.settle()
    assert len(replica.told) == 2, "told once"
    assert (replica.partition.high_watermark, replica.partition.leader_epoch) == (0, 4)


def test_a_follower_that_becomes_a_leader_shows_what_it_has_and_writes_its_epoch(bench: Bench) -> None:
    replica = Replica(bench, Follower(3))
    replica.append_mirrored(0, 3)
    bench.settle()
    replica.partition.become_leader(5)
    assert (replica.partition.high_watermark, replica.partition.failed, replica.woken) == (1, False, 1)
    replica.wait(replica.append())
    bench.settle()
    assert sorted(replica.told) == [("stored", ErrorCode.NONE), ("visible", ErrorCode.NONE)]
    assert replica.epochs() == [3, 5]
    assert replica.partition.epoch_end(3) == (3, 1)


def test_leadership_there_and_back(bench: Bench) -> None:
    replica = Replica(bench, Leader(0))
    replica.append()
    bench.settle()
    replica.partition.become_follower(1)
    replica.append_mirrored(1, 1)
    bench.settle()
    replica.partition.become_leader(2)
    replica.append()
    bench.settle()
    assert replica.epochs() == [0, 1, 2]
    assert (replica.partition.high_watermark, replica.partition.last_stable) == (3, 3)


def test_a_follower_shows_what_its_leader_shows_and_what_it_has(bench: Bench) -> None:
    replica = Replica(bench, Follower(3))
    partition = replica.partition
    replica.append_mirrored(0, 3)
    replica.append_mirrored(1, 3)
    partition.follow_high_watermark(2)
    assert partition.high_watermark == 0, "nothing is stored here yet"
    bench.settle()
    partition.follow_high_watermark(1)
    assert (partition.high_watermark, partition.last_stable, replica.woken) == (1, 1, 1)
    partition.follow_high_watermark(0)
    assert partition.high_watermark == 1, "it never falls"
    partition.follow_high_watermark(9)
    assert (partition.high_watermark, replica.woken) == (2, 2), "there is no more"
    partition.become_leader(4)
    partition.follow_high_watermark(1)
    assert partition.high_watermark == 2, "a leader follows its own rule"


@pytest.mark.parametrize("role", [Leader(0), Follower(0)])
def test_a_partition_becomes_a_mirror_and_ceases_to_be_one(bench: Bench, role: Role) -> None:
    replica = Replica(bench, role)
    partition = replica.partition
    if isinstance(role, Leader):
        replica.append()
    else:
        replica.append_mirrored(0, 0)
    bench.settle()
    partition.become_mirror()
    assert (partition.mirror, partition.failed, partition.high_watermark) == (True, False, 1)
    with pytest.raises(KafkaError, match="mirror"):
        replica.append()
    replica.append_mirrored(1, 7)
    bench.settle()
    assert partition.high_watermark == 2
    partition.become_leader(8)
    replica.append()
    bench.settle()
    assert (partition.mirror, partition.high_watermark, replica.epochs()) == (False, 3, [0, 7, 8])


@pytest.mark.parametrize("role", [Leader(3), Follower(3)])
def test_an_older_epoch_changes_nothing(bench: Bench, role: Role) -> None:
    partition = Replica(bench, role).partition
    for change in (partition.become_leader, partition.become_follower):
        with pytest.raises(KafkaError) as error:
            change(2)
        assert refused(error) is ErrorCode.FENCED_LEADER_EPOCH
        assert partition.role == role
