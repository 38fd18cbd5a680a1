"""Streams that run twice over one checkpoint, by Spark's own Kafka source and by ours: one table of what happens.

`first` fills the topic before the first run, `then` is what happens before the second; TOPIC in an option is the topic.
What differs on purpose is said in `differs`, and in docs/spark.md; then only our outcome is given.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from penstock.model.batch_builder import NewRecord, build_batch
from tests.facts.test_repeated_produce import set_config
from tests.spark.test_spark_reading import put
from tests.support.batches import now_ms
from tests.support.raw_client import RawClient, unique_name
from tests.support.transaction_client import V2, TransactionClient
from tests.support.waiting import wait_until

Act = Callable[[RawClient, str], object]


@dataclass(frozen=True)
class Case:
    first: Act
    then: Act
    options: dict[str, Any] = field(default_factory=dict)
    configs: dict[str, str] = field(default_factory=dict)
    pattern: bool = False
    """Whether topics are chosen by a pattern that is the topic's name with anything behind it."""
    fails: bool = False
    """Whether the second run fails, of either source."""
    differs: str = ""


def fill(client: RawClient, topic: str) -> None:
    put(client, topic, *"abcdef")
    put(client, topic, *"ghi", partition=1)


def more(client: RawClient, topic: str) -> None:
    put(client, topic, "x", partition=1)


def transactions(client: RawClient, topic: str) -> None:
    """Ended in both ways, the last one aborted: the end of the log is a hole, and whole batches of a query are."""
    for commit in (True, False, True, False, False):
        producer = TransactionClient(client, unique_name("tx"), V2).init()
        for value in "12":
            producer.send(topic, value)
        producer.end(commit=commit)
        producer.wait_for("CompleteCommit" if commit else "CompleteAbort")


def odd_records(client: RawClient, topic: str) -> None:
    parts = [(None, None), (b"", b""), (b"k", None), (None, b"v")]
    records = [NewRecord(key, value, (("h", None), ("h", b"")), now_ms() - 5000) for key, value in parts]
    assert client.produce(topic, bytes(build_batch(records, timestamp=now_ms()))).error_code == 0


def compacted(client: RawClient, topic: str) -> None:
    """Records, most of which a later one of their key replaces; the cleaner has been there, and does not come back."""
    for number in range(40):
        records = [NewRecord(f"k{index % 7}".encode(), bytes(20_000)) for index in range(number, number + 4)]
        assert client.produce(topic, bytes(build_batch(records, timestamp=now_ms()))).error_code == 0

    def offsets() -> list[int]:
        return [record.offset for record in client.fetch_records(topic)]

    wait_until(lambda: (found := offsets())[-1] - found[0] >= len(found), what="compaction", within_s=60)
    set_config(client, topic, "cleanup.policy", "delete")
    before: list[int] = []
    while before != (before := offsets()):
        time.sleep(1)  # a pass that has begun ends within that


def age_out(client: RawClient, topic: str) -> None:
    put(client, topic, *"xyz")
    client.delete_records(topic, 8)


def grow(client: RawClient, topic: str) -> None:
    asked = [{"name": topic, "count": 3, "assignments": None}]
    client.call("create_partitions", 3, topics=asked, timeout=10_000, validate_only=False)
    client.wait_for_topic(topic, 3)
    put(client, topic, "new", partition=2)


def another_topic(client: RawClient, topic: str) -> None:
    put(client, client.create_topic(f"{topic}-more"), "new")


def recreate(client: RawClient, topic: str) -> None:
    client.delete_topic(topic)
    client.create_topic(topic, partitions=2)
    fill(client, topic)
    fill(client, topic)


CASES = {
    "records of every kind": Case(odd_records, odd_records),
    "times of the broker": Case(fill, more, configs={"message.timestamp.type": "LogAppendTime"}),
    "small batches": Case(fill, more, {"maxOffsetsPerTrigger": 2}),
    "many tasks": Case(fill, more, {"minPartitions": 5}),
    "a start by time of each partition": Case(
        fill, more, {"startingOffsetsByTimestamp": '{"TOPIC": {"0": 1, "1": 1}}'}
    ),
    "a start in the future, or the end": Case(
        fill, more, {"startingTimestamp": "99999999999999", "startingOffsetsByTimestampStrategy": "latest"}
    ),
    "a start by time": Case(fill, more, {"startingTimestamp": "1"}),
    "holes where transactions were": Case(transactions, transactions, {"maxOffsetsPerTrigger": 3}),
    "holes where compaction was": Case(
        compacted,
        more,
        {"maxOffsetsPerTrigger": 7},
        {"cleanup.policy": "compact", "segment.bytes": str(1 << 20), "min.cleanable.dirty.ratio": "0.01"},
    ),
    "records that aged out": Case(fill, age_out, fails=True),
    "records that aged out, and nobody minds": Case(fill, age_out, {"failOnDataLoss": "false"}),
    "partitions that are added": Case(fill, grow),
    "topics that come": Case(fill, another_topic, pattern=True),
    "a topic that goes": Case(fill, lambda client, topic: client.delete_topic(topic), fails=True),
    "a topic that was created again": Case(
        fill, recreate, fails=True, differs="ids of topics are known here, and a longer log does not hide it"
    ),
}
