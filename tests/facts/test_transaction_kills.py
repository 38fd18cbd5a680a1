"""kill -9 at every step of the end of a transaction, and in the middle of one: what was decided happens."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
from kio.schema.errors import ErrorCode

from penstock.model.topic_name import TRANSACTION_STATE
from penstock.runtime.pauses import PAUSES, VARIABLE
from penstock.storage.interface import AbortedTransaction
from tests.support import group_client
from tests.support.committed_reader import committed_in
from tests.support.group_client import wait_for_coordinator
from tests.support.penstock_process import PenstockProcess
from tests.support.raw_client import RawClient, unique_name
from tests.support.transaction_client import V1, V2, TransactionClient
from tests.support.variants import variants
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("K-07", "X-02")

ENDS = list(itertools.product([True, False], [V1, V2]))
GROUPS = ("group-1", "group-2")
"""Of which each has its own partition of the offsets' topic, and so its own marker."""


class PausingProcess(PenstockProcess):
    """Stops itself when it comes to a named place."""

    pause_at: str | None = None

    def environment(self) -> dict[str, str]:
        extra = {} if self.pause_at is None else {VARIABLE: self.pause_at}
        return {name: value for name, value in os.environ.items() if name != VARIABLE} | extra

    def wait_for_pause(self) -> None:
        def stopped() -> bool:
            return Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T"

        wait_until(stopped, what="the broker to stop itself")


@pytest.fixture
def process(tmp_path: Path) -> Iterator[PausingProcess]:
    broker = PausingProcess(tmp_path)
    try:
        yield broker
    finally:
        if broker.running:
            broker.kill9()


def connect(process: PausingProcess) -> RawClient:
    return RawClient(process.host, process.port)


def restart(process: PausingProcess, pause_at: str | None = None) -> RawClient:
    if process.running:
        process.kill9()
    process.pause_at = pause_at
    process.start()
    return connect(process)


def committed(client: RawClient, topic: str, partition: int) -> list[str]:
    answer = client.fetch(topic, 0, partition=partition, isolation_level=1)
    assert answer.error_code == ErrorCode.none
    aborted = [AbortedTransaction(each.producer_id, each.first_offset) for each in answer.aborted_transactions or ()]
    return [(record.value or b"").decode() for record in committed_in(answer.records, aborted)]


def is_settled(client: RawClient, topic: str) -> bool:
    answers = [client.fetch(topic, 0, partition=index, isolation_level=1) for index in (0, 1)]
    return all(answer.last_stable_offset == answer.high_watermark for answer in answers)


def ask_for_end(tx: TransactionClient, *, commit: bool) -> None:
    """And do not wait for the answer."""
    tx.client.send("end_txn", 5 if tx.generation == V2 else 4, transactional_id=tx.transactional_id,
                   producer_id=tx.producer_id, producer_epoch=tx.epoch, committed=commit)  # fmt: skip


@variants(
    "window,commit,generation",
    [(window, *end) for window in PAUSES for end in ENDS],
    quick=[("prepared", True, V2), ("marker", False, V1), ("marked", True, V1)],
)
def test_a_kill_in_each_window_of_the_end(process: PausingProcess, window: str, commit: bool, generation: int) -> None:
    client = restart(process, window)
    topic = client.create_topic(partitions=2)
    tx = TransactionClient(client, unique_name("tx"), generation).init()
    tx.send(topic, "a", partition=0)
    tx.send(topic, "b", partition=1)
    ask_for_end(tx, commit=commit)
    process.wait_for_pause()
    client = restart(process)
    wait_until(lambda: is_settled(client, topic), what="the end of the transaction")
    expected = [["a"], ["b"]] if commit else [[], []]
    assert [committed(client, topic, index) for index in (0, 1)] == expected
    tx.client = client
    tx.wait_for("CompleteCommit" if commit else "CompleteAbort")
    again = tx.end_answer(commit=commit)  # the client has not heard of it
    assert again.error_code == ErrorCode.none
    if generation == V2:
        tx._take(again.producer_id, again.producer_epoch)
    tx.send(topic, "next", partition=0)
    tx.commit()
    wait_until(lambda: committed(client, topic, 0)[-1:] == ["next"], what="the next transaction")


def stable_offsets(client: RawClient, topic: str) -> list[int]:
    """The offset of each group, as soon as the broker tells: its coordinator is loaded, and no transaction is open."""

    def offset_of(group: str) -> int:
        answers: list[Any] = []

        def is_stable() -> bool:
            topics = [{"name": topic, "partition_indexes": [0]}]
            answers[:] = [client.call("offset_fetch", 7, group_id=group, topics=topics, require_stable=True)]
            rows = [row for each in answers[0].topics for row in each.partitions]
            return {answers[0].error_code, *(row.error_code for row in rows)} == {ErrorCode.none}

        wait_until(is_stable, what=f"a stable offset of {group}")
        return int(answers[0].topics[0].partitions[0].committed_offset)

    return [offset_of(group) for group in GROUPS]


def send_all(tx: TransactionClient, topic: str, value: str, offset: int) -> None:
    """The value to both partitions, and the offset for both groups."""
    for group in GROUPS:
        assert tx.generation == V2 or tx.add_offsets(group) == ErrorCode.none
        assert tx.commit_offset(group, topic, offset) == ErrorCode.none
    for partition in (0, 1):
        tx.send(topic, value, partition=partition)


@variants(
    "window,name,commit,generation",
    [
        (window, name, *end)
        for window, name in [("prepared", "topic"), ("marker", "topic"), ("marker", "TOPIC"), ("marked", "topic")]
        for end in ENDS
    ],
    quick=[
        ("prepared", "topic", False, V1),
        ("marker", "topic", True, V2),
        ("marker", "TOPIC", False, V2),
        ("marked", "topic", True, V1),
    ],
)
def test_records_and_offsets_come_out_together(
    process: PausingProcess, window: str, name: str, commit: bool, generation: int
) -> None:
    """Markers are written in the order of names: those of offsets before `topic` and after `TOPIC`."""
    client = restart(process, window)
    wait_for_coordinator(client)
    topic = client.create_topic(unique_name(name), partitions=2)
    for group in GROUPS:
        assert group_client.commit(client, group, topic, 1) == ErrorCode.none
    tx = TransactionClient(client, unique_name("tx"), generation).init()
    send_all(tx, topic, "a", 2)
    ask_for_end(tx, commit=commit)
    process.wait_for_pause()
    tx.client = client = restart(process)
    offset, values = (2, ["a"]) if commit else (1, [])
    assert stable_offsets(client, topic) == [offset, offset]
    wait_until(lambda: is_settled(client, topic), what="the end of the transaction")
    assert [committed(client, topic, index) for index in (0, 1)] == [values, values]
    tx.wait_for("CompleteCommit" if commit else "CompleteAbort")
    tx.end(commit=commit)  # the client has not heard of it
    send_all(tx, topic, "next", 3)
    tx.commit()
    assert stable_offsets(client, topic) == [3, 3]
    wait_until(lambda: is_settled(client, topic), what="the next transaction")
    assert [committed(client, topic, index) for index in (0, 1)] == [[*values, "next"]] * 2


@variants("generation", [(V1,), (V2,)], quick=[(V2,)])
def test_what_was_open_stays_open_and_commits(process: PausingProcess, generation: int) -> None:
    client = restart(process)
    topic = client.create_topic(partitions=2)
    tx = TransactionClient(client, unique_name("tx"), generation).init()
    tx.send(topic, "a", partition=0)
    tx.client = client = restart(process)
    assert tx.describe().transaction_state == "Ongoing"
    assert client.fetch(topic, 0, isolation_level=1).last_stable_offset == 0
    tx.send(topic, "b", partition=0)
    tx.send(topic, "c", partition=1)
    tx.commit()
    wait_until(lambda: is_settled(client, topic), what="the commit")
    assert [committed(client, topic, index) for index in (0, 1)] == [["a", "b"], ["c"]]


@variants("killed_first", [(True,), (False,)], quick=[(True,)])
def test_a_group_that_is_deleted_while_its_offsets_are_pending(process: PausingProcess, killed_first: bool) -> None:
    client = restart(process)
    wait_for_coordinator(client)
    topic, group = client.create_topic(partitions=2), unique_name("group")
    tx = TransactionClient(client, unique_name("tx"), V2).init()
    assert tx.commit_offset(group, topic, 5) == ErrorCode.none
    if killed_first:
        tx.client = client = restart(process)
        wait_for_coordinator(client)
    assert client.call("delete_groups", 2, groups_names=[group]).results[0].error_code == ErrorCode.none
    assert tx.commit_offset(group, topic, 6, partition=1) == ErrorCode.none
    tx.client = client = restart(process)
    wait_for_coordinator(client)
    topics = [{"name": topic, "partition_indexes": [0, 1]}]

    def fetched() -> list[tuple[ErrorCode, int]]:
        answer = client.call("offset_fetch", 7, group_id=group, topics=topics, require_stable=True)
        rows = sorted(answer.topics[0].partitions, key=attrgetter("partition_index"))
        return [(ErrorCode(row.error_code), row.committed_offset) for row in rows]

    assert fetched() == [(ErrorCode.none, -1), (ErrorCode.unstable_offset_commit, -1)]
    tx.commit()
    tx.wait_for("CompleteCommit")
    assert fetched() == [(ErrorCode.none, -1), (ErrorCode.none, 6)]


def test_the_clock_of_an_open_transaction_runs_on(process: PausingProcess) -> None:
    client = restart(process)
    topic = client.create_topic(partitions=2)
    tx = TransactionClient(client, unique_name("tx"), V2, timeout=3_000).init()
    tx.send(topic, "a")
    began = tx.describe().transaction_start_time
    tx.client = client = restart(process)
    found = tx.describe()
    assert found.transaction_state != "Ongoing" or found.transaction_start_time == began
    tx.wait_for("CompleteAbort")
    assert committed(client, topic, 0) == []


def test_open_transactions_that_nobody_knows_are_aborted(process: PausingProcess) -> None:
    """The coordinator's topic is lost: open transactions in the partitions must not block readers forever."""
    client = restart(process)
    topic = client.create_topic(partitions=2)
    tx = TransactionClient(client, unique_name("tx"), V2).init()
    tx.send(topic, "a")
    process.kill9()
    lost = list((process.data_directory / "topics" / TRANSACTION_STATE).glob("*/*/*"))
    assert lost
    for path in lost:
        path.unlink()
    client = restart(process)
    wait_until(lambda: is_settled(client, topic), what="the abort")
    assert committed(client, topic, 0) == []
    stale = TransactionClient(client, tx.transactional_id, V2)
    stale.producer_id, stale.epoch = tx.producer_id, tx.epoch
    assert stale.produce(topic, "b") == ErrorCode.invalid_producer_epoch
