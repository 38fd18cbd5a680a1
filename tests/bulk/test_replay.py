"""Replays: what was archived comes back with its times, keys and headers, in its order, once."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from penstock.bulk.errors import Changed, Damaged, Missing, Unfit
from penstock.bulk.rows import PieceLimits
from penstock.client.address import Address
from penstock.client.cluster import Cluster
from penstock.client.offsets import LATEST, list_offsets
from penstock.model.errors import KafkaError
from penstock.model.topic_partition import TopicPartition
from penstock_spark.bulk.replay_job import ReplayRequest, run_replay
from tests.bulk.archiving import DAY_MS, START_MS, archive, fill, make_topic
from tests.bulk.conftest import Contents
from tests.support.archive_rows import archive_files
from tests.support.broker_process import BrokerProcess
from tests.support.command_line import CommandLine
from tests.support.raw_client import RawClient
from tests.support.sudden_death import NETWORK, Death, death_at
from tests.support.told import Told
from tests.support.topic_contents import Seen
from tests.support.waiting import wait_until

PARTITIONS = 3


@pytest.fixture
def back(topic: str) -> str:
    return f"{topic}-back"


@pytest.fixture
def archived(broker: BrokerProcess, client: RawClient, contents: Contents, topic: str, tmp_path: Path) -> list[Seen]:
    """Several files of several dates, whose offsets overlap; what is in them."""
    make_topic(client, topic, PARTITIONS)
    for seed in range(3):
        fill(client, topic, 20, partitions=PARTITIONS, days=3, seed=seed)
        archive(broker, topic, tmp_path, file_bytes=20_000, step_rows_max=100)
    assert len(archive_files(tmp_path)) > 3
    return contents(topic)


def replay(
    broker: BrokerProcess, directory: Path, topic: str, *, rows: int = 1000, told: Told | None = None, **options: Any
) -> int:
    request = ReplayRequest(directory=directory, topic=topic, limits=PieceLimits(rows), **options)
    with Cluster([Address(broker.host, broker.port)], timeout_s=30) as cluster:
        return run_replay(cluster, request, told or Told())


def without_offsets(found: list[Seen]) -> list[Seen]:
    """In their order."""
    return [each._replace(offset=0) for each in found]


@pytest.mark.feature("S-04")
def test_all_of_it(broker: BrokerProcess, contents: Contents, archived: list[Seen], back: str, tmp_path: Path) -> None:
    assert replay(broker, tmp_path, back, rows=70, keep_partitions=True) == len(archived)
    assert without_offsets(contents(back)) == without_offsets(archived)
    assert replay(broker, tmp_path, back, rows=70, keep_partitions=True) == len(archived)
    assert len(contents(back)) == len(archived)
    replay(broker, tmp_path, back, keep_partitions=True, again=True, codec=3)
    assert len(contents(back)) == 2 * len(archived)


@pytest.mark.feature("S-04")
def test_by_key(broker: BrokerProcess, contents: Contents, archived: list[Seen], back: str, tmp_path: Path) -> None:
    """Into another number of partitions: the records of a key stay in their order."""
    replay(broker, tmp_path, back, rows=70, partition_count=5)
    found = contents(back)
    unplaced = sorted(map(repr, (each._replace(partition=0, offset=0) for each in found)))
    assert unplaced == sorted(map(repr, (each._replace(partition=0, offset=0) for each in archived)))
    for key in {each.key for each in found if each.key is not None}:
        assert len({each.partition for each in found if each.key == key}) == 1
        for partition in range(PARTITIONS):  # the test's own records of a key are in several partitions
            before = [each.value for each in archived if (each.key, each.partition) == (key, partition)]
            after = [each.value for each in found if each.key == key]
            assert _is_subsequence(before, after)


def _is_subsequence(part: list[bytes | None], whole: list[bytes | None]) -> bool:
    rest = iter(whole)
    return all(each in rest for each in part)


@pytest.mark.feature("S-04")
def test_a_part_of_it(
    broker: BrokerProcess, contents: Contents, archived: list[Seen], back: str, tmp_path: Path
) -> None:
    start, end = START_MS + DAY_MS // 2, START_MS + 2 * DAY_MS
    options: dict[str, Any] = {"from_ms": start, "to_ms": end, "partitions": (0, 2), "keep_partitions": True}
    replay(broker, tmp_path, back, rows=50, **options)
    wanted = [each for each in archived if start <= each.time_ms < end and each.partition != 1]
    assert without_offsets(contents(back)) == without_offsets(wanted)
    told = Told()
    replay(broker, tmp_path, back, told=told, **options)
    assert told.rows == 0


def test_times_rise_about_as_they_did(
    broker: BrokerProcess, client: RawClient, contents: Contents, topic: str, back: str, tmp_path: Path
) -> None:
    """Partitions are taken in turns, not one after the other."""
    make_topic(client, topic, 2)
    for hour in range(20):
        for partition in range(2):
            fill_hour(client, topic, partition, hour)
    archive(broker, topic, tmp_path)
    replay(broker, tmp_path, back, rows=10, partition_count=1)
    times = [each.time_ms for each in contents(back)]
    assert len(times) == 400
    behind = max(max(times[:index]) - time for index, time in enumerate(times) if index)
    assert behind <= 2 * 3_600_000


def fill_hour(client: RawClient, topic: str, partition: int, hour: int) -> None:
    from penstock.model.batch_builder import NewRecord
    from tests.bulk.archiving import put

    records = [NewRecord(b"k", b"v", (), START_MS + hour * 3_600_000 + number) for number in range(10)]
    put(client, topic, records, partition)


def test_what_is_archived_later_is_replayed_later(
    broker: BrokerProcess,
    client: RawClient,
    contents: Contents,
    archived: list[Seen],
    topic: str,
    back: str,
    tmp_path: Path,
) -> None:
    replay(broker, tmp_path, back, keep_partitions=True)
    fill(client, topic, 5, partitions=PARTITIONS, days=3, seed=9)
    archive(broker, topic, tmp_path)
    replay(broker, tmp_path, back, keep_partitions=True)
    assert without_offsets(contents(back)) == without_offsets(contents(topic))


# --- deaths ----------------------------------------------------------------------------------------------------------


@pytest.mark.crash
@pytest.mark.feature("S-04")
@pytest.mark.parametrize(
    "after", [pytest.param(False, id="before"), pytest.param(True, id="after", marks=pytest.mark.full)]
)
def test_death_at_every_call(
    broker: BrokerProcess, contents: Contents, archived: list[Seen], back: str, tmp_path: Path, after: bool
) -> None:
    """One job, dying later each time; every run gets some of it done."""
    call = 0
    is_over = False
    while not is_over:
        call += 1
        is_over = True
        with death_at(call, NETWORK, after=after):
            try:
                replay(broker, tmp_path, back, rows=25, keep_partitions=True, partition_count=PARTITIONS)
            except Death:
                is_over = False
    assert call > 30
    assert without_offsets(contents(back)) == without_offsets(archived)


@pytest.mark.slow
@pytest.mark.crash
@pytest.mark.feature("S-04")
@pytest.mark.timeout(900)
def test_killed_many_times(
    penstock: CommandLine,
    broker: BrokerProcess,
    client: RawClient,
    cluster: Cluster,
    contents: Contents,
    topic: str,
    back: str,
    tmp_path: Path,
) -> None:
    chance = random.Random(1)
    make_topic(client, topic, PARTITIONS)
    fill(client, topic, 600, partitions=PARTITIONS, days=3)
    archive(broker, topic, tmp_path)
    command = ("replay", tmp_path, "--topic", back, "--keep-partitions")
    places = [TopicPartition(back, index) for index in range(PARTITIONS)]

    def end() -> int:
        try:
            return sum(list_offsets(cluster, dict.fromkeys(places, LATEST), committed=False).values())
        except KafkaError:
            return 0

    for _ in range(12):
        wanted = end() + chance.randrange(1, 800)
        with penstock.started(*command, "--transaction-rows", 20) as process:
            wait_until(lambda: process.poll() is not None or end() >= wanted, what="records", within_s=60)  # noqa: B023
            assert process.poll() is None
            process.kill()
    penstock(*command)
    assert without_offsets(contents(back)) == without_offsets(contents(topic))


# --- refusals --------------------------------------------------------------------------------------------------------


def test_what_is_no_archive(broker: BrokerProcess, back: str, tmp_path: Path) -> None:
    with pytest.raises(Missing, match="there is no directory"):
        replay(broker, tmp_path / "nowhere", back)
    with pytest.raises(Missing, match="is not an archive"):
        replay(broker, tmp_path, back)


def test_what_an_archive_does_not_have(
    broker: BrokerProcess, archived: list[Seen], topic: str, back: str, tmp_path: Path
) -> None:
    with pytest.raises(Missing, match=f"has no topic other; it has {topic}"):
        replay(broker, tmp_path, back, source_topic="other")
    with pytest.raises(Missing, match="has no partition 7; it has 0 to 2"):
        replay(broker, tmp_path, back, partitions=(7,))
    with pytest.raises(Unfit, match="--from is not before --to"):
        replay(broker, tmp_path, back, from_ms=5, to_ms=5)
    with pytest.raises(Unfit, match="has 2 partitions, and the archive 3"):
        replay(broker, tmp_path, back, keep_partitions=True, partition_count=2)
    (tmp_path / "_penstock" / "second.json").write_text("{}")
    with pytest.raises(Unfit, match="name one with --source-topic"):
        replay(broker, tmp_path, back)


def test_another_archive_under_a_job_that_began(
    broker: BrokerProcess, archived: list[Seen], topic: str, back: str, tmp_path: Path
) -> None:
    replay(broker, tmp_path, back, job=back)
    archive(broker, topic, tmp_path / "second")
    with pytest.raises(Changed, match="is not the archive that the job began with"):
        replay(broker, tmp_path / "second", back, job=back)


@pytest.mark.parametrize("damage", ["missing", "cut"])
def test_a_file_that_is_not_as_it_was(
    broker: BrokerProcess, archived: list[Seen], back: str, tmp_path: Path, damage: str
) -> None:
    path = archive_files(tmp_path)[1]
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(Damaged, match=f"{path.name}, which the manifest names"):
        replay(broker, tmp_path, back)


def test_a_topic_that_would_forget_them_is_named(
    broker: BrokerProcess, client: RawClient, archived: list[Seen], back: str, tmp_path: Path
) -> None:
    client.create_topic(back, configs={"message.timestamp.type": "LogAppendTime", "retention.ms": "86400000"})
    told = Told()
    replay(broker, tmp_path, back, told=told)
    assert "time of arrival" in told.remarks[0]
    assert "removes records that are older than 1 d;" in told.remarks[1]
