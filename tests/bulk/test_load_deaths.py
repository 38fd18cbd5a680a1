"""A load that dies: at every single call to the network, by kill -9, with the broker, or twice at once."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.bulk.errors import Replaced
from penstock.client import markers
from penstock.client.address import Address
from penstock.client.cluster import Cluster
from penstock.client.connection import BrokerUnavailable
from penstock.client.offsets import LATEST, list_offsets
from penstock.client.transactions import TransactionalProducer
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.errors import KafkaError
from penstock.model.topic_partition import TopicPartition
from tests.bulk.conftest import Contents, Run
from tests.support.broker_process import BrokerProcess
from tests.support.command_line import CommandLine
from tests.support.raw_client import unique_name
from tests.support.sudden_death import NETWORK, Death, death_at
from tests.support.topic_contents import topic_contents
from tests.support.waiting import wait_until

PARTITIONS = 3


def write_rows(path: Path, count: int) -> list[int]:
    path.write_text("".join(json.dumps({"n": number, "key": f"k{number % 17}"}) + "\n" for number in range(count)))
    return list(range(count))


def numbers(contents: Contents, topic: str) -> list[int]:
    return sorted(int(json.loads(each.value or b"")["n"]) for each in contents(topic))


@pytest.mark.crash
@pytest.mark.feature("S-04")
@pytest.mark.parametrize(
    "after", [pytest.param(False, id="before", marks=pytest.mark.full), pytest.param(True, id="after")]
)
def test_death_at_every_call(run_load: Run, contents: Contents, topic: str, tmp_path: Path, after: bool) -> None:
    """One file after the other into the same topic, each load dying one call later than the one before."""
    expected: list[int] = []
    call = 0
    is_over = False
    while not is_over:
        call += 1
        path = tmp_path / f"{call}.jsonl"
        first = len(expected)
        path.write_text("".join(f'{{"n":{first + number},"key":"{number}"}}\n' for number in range(30)))
        expected += range(first, first + 30)
        is_over = True
        with death_at(call, NETWORK, after=after):
            try:
                run_load(path, key="key", partitions=PARTITIONS, rows=10)
            except Death:
                is_over = False
        run_load(path, key="key", partitions=PARTITIONS, rows=10)
    assert call > 30  # it was really killed in every step
    assert numbers(contents, topic) == expected


@pytest.mark.crash
def test_bad_rows_are_put_aside_once(run_load: Run, contents: Contents, topic: str, tmp_path: Path) -> None:
    """Whenever the load dies, whatever is in the file already."""
    path, aside = tmp_path / "rows.jsonl", tmp_path / "bad.jsonl"
    path.write_text("".join("1\n" if number % 3 else "x\n" for number in range(30)))
    call = 0
    is_over = False
    while not is_over:
        call += 3
        is_over = True
        with death_at(call, NETWORK, after=True):
            try:
                run_load(path, rows=5, skip_bad=aside)
            except Death:
                is_over = False
    assert [json.loads(line)["line"] for line in aside.read_text().splitlines()] == list(range(1, 31, 3))
    assert len(contents(topic)) == 20


@pytest.mark.crash
@pytest.mark.feature("S-04")
def test_killed_three_times(
    penstock: CommandLine, cluster: Cluster, contents: Contents, topic: str, tmp_path: Path
) -> None:
    _kill_again_and_again(penstock, cluster, contents, topic, tmp_path, kills=3, seed=1)


@pytest.mark.slow
@pytest.mark.crash
@pytest.mark.feature("S-04")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(3))
def test_killed_many_times(
    penstock: CommandLine, cluster: Cluster, contents: Contents, topic: str, tmp_path: Path, seed: int
) -> None:
    _kill_again_and_again(penstock, cluster, contents, topic, tmp_path, kills=15, seed=seed)


def _kill_again_and_again(
    penstock: CommandLine,
    cluster: Cluster,
    contents: Contents,
    topic: str,
    directory: Path,
    *,
    kills: int,
    seed: int,
) -> None:
    """Whenever some more records have arrived, wherever the process is then."""
    chance = random.Random(seed)
    expected = write_rows(directory / "rows.jsonl", 2_000 * (kills + 1))
    command = ("load", directory / "rows.jsonl", "--topic", topic, "--key", "key", "--partitions", PARTITIONS)
    for _ in range(kills):
        before = ends(cluster, topic)
        wanted = before + chance.randrange(1, 2_000)
        with penstock.started(*command, "--transaction-rows", 50) as process:
            wait_until(lambda: process.poll() is not None or ends(cluster, topic) >= wanted, what="rows", within_s=60)  # noqa: B023
            assert process.poll() is None
            process.kill()
    penstock(*command)
    assert numbers(contents, topic) == expected


def ends(cluster: Cluster, topic: str) -> int:
    places = [TopicPartition(topic, index) for index in range(PARTITIONS)]
    try:
        return sum(list_offsets(cluster, dict.fromkeys(places, LATEST), committed=False).values())
    except KafkaError:
        return 0


# --- others ----------------------------------------------------------------------------------------------------------


def test_the_open_transaction_of_somebody_else(
    run_load: Run, cluster: Cluster, contents: Contents, topic: str, tmp_path: Path
) -> None:
    """It holds back all that is committed after it, markers included; the job knows all the same."""
    (tmp_path / "other.jsonl").write_text("0\n")
    run_load(tmp_path / "other.jsonl")  # makes the topic of markers
    other = TransactionalProducer(cluster, unique_name("other"))
    other.init()
    batch = build_batch([NewRecord(b"some other job", b"{}")], timestamp=0)
    other.send(TopicPartition(markers.TOPIC, 0), batch)
    other.flush()
    try:
        rows = write_rows(tmp_path / "rows.jsonl", 30)
        for _ in range(2):
            assert run_load(tmp_path / "rows.jsonl", key="key", rows=10).rows_in_all == 30
    finally:
        other.abort()
    assert [each for each in numbers_or_zero(contents, topic) if each >= 0] == rows


def numbers_or_zero(contents: Contents, topic: str) -> list[int]:
    found = [json.loads(each.value or b"") for each in contents(topic)]
    return sorted(-1 if isinstance(each, int) else int(each["n"]) for each in found)


@pytest.mark.crash
def test_two_at_once(run_load: Run, contents: Contents, topic: str, tmp_path: Path) -> None:
    """The later one goes on, the earlier one is told so; nothing is twice."""
    expected = write_rows(tmp_path / "rows.jsonl", 3000)
    replaced = []

    def run() -> None:
        try:
            run_load(tmp_path / "rows.jsonl", key="key", partitions=PARTITIONS, rows=20)
        except Replaced as error:
            replaced.append(error)

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    run_load(tmp_path / "rows.jsonl", key="key", partitions=PARTITIONS)
    assert replaced
    assert "took over" in str(replaced[0])
    assert numbers(contents, topic) == expected


@pytest.mark.slow
@pytest.mark.crash
def test_the_broker_is_killed(own_broker: BrokerProcess, topic: str, tmp_path: Path) -> None:
    """The load waits for it, and goes on."""
    expected = write_rows(tmp_path / "rows.jsonl", 20_000)
    command = CommandLine(own_broker.bootstrap)
    with Cluster([Address(own_broker.host, own_broker.port)], timeout_s=30) as cluster:
        options = ("--key", "key", "--partitions", PARTITIONS, "--transaction-rows", 50)
        with command.started("load", tmp_path / "rows.jsonl", "--topic", topic, *options) as process:
            for round_ in range(3):
                wait_until(_reached(cluster, topic, 2000 * (round_ + 1)), what="rows", within_s=60)
                own_broker.kill9()
                own_broker.start()
            assert process.wait(90) == 0
    assert numbers(lambda name: topic_contents(own_broker.bootstrap, name), topic) == expected


def _reached(cluster: Cluster, topic: str, count: int) -> Callable[[], bool]:
    def reached() -> bool:
        try:
            return ends(cluster, topic) >= count
        except BrokerUnavailable:
            return False

    return reached
