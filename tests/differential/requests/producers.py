"""InitProducerId and DescribeProducers."""

from __future__ import annotations

from typing import Any

from tests.differential.peer import Peer
from tests.differential.script import versions
from tests.support.batches import values


@versions("init_producer_id")
def init_producer_id(peer: Peer, version: int) -> None:
    def ask(label: str, **changes: Any) -> None:
        body = {"transactional_id": None, "transaction_timeout": 60_000, **changes}
        peer.ask("init_producer_id", version, body, label=label)

    ask("a new id")
    ask("another new id")
    ask("an empty transactional id", transactional_id="")
    ask("a timeout of 0 without a transaction", transaction_timeout=0)
    ask("a negative timeout without a transaction", transaction_timeout=-1)
    if version >= 3:
        ask("a known id", producer_id=5, producer_epoch=0)
        ask("an id without an epoch", producer_id=5, producer_epoch=-1)
        ask("an epoch without an id", producer_id=-1, producer_epoch=5)
        ask("an id and epoch -2", producer_id=5, producer_epoch=-2)


@versions("describe_producers")
def describe_producers(peer: Peer, version: int) -> None:
    topic, empty = peer.topic("topic", partitions=2), peer.topic("empty")
    owned = {"producer_id": 3_000_000, "producer_epoch": 2, "base_sequence": 0}
    for partition, sequence in ((0, 0), (0, 1), (1, 0)):
        records = values("a", base_timestamp_ms=peer.time(), **{**owned, "base_sequence": sequence})
        data = [{"index": partition, "records": records}]
        body = {"acks": -1, "timeout": 10_000, "topic_data": [{"name": topic, "partition_data": data}]}
        assert peer.quietly("produce", 9, body)["responses"][0]["partition_responses"][0]["error_code"] == 0

    def ask(label: str, *topics: tuple[str, list[int]]) -> None:
        rows = [{"name": name, "partition_indexes": wanted} for name, wanted in topics]
        peer.ask("describe_producers", version, {"topics": rows}, label=label)

    ask("no topics")
    ask("no partitions", (topic, []))
    ask("of a partition", (topic, [0]))
    ask("of two", (topic, [1, 0]))
    ask("of an empty one", (empty, [0]))
    ask("unknown partition", (topic, [7]))
    ask("partition -1", (topic, [-1]))
    ask("unknown topic", (peer.name("unknown"), [0]))
    ask("a bad name", ("a/b", [0]))
    ask("an empty name", ("", [0]))
    ask("known and unknown", (peer.name("unknown"), [0]), (topic, [0]))
