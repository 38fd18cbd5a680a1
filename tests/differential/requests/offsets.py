"""ListOffsets, OffsetForLeaderEpoch and DeleteRecords."""

from __future__ import annotations

from typing import Any

from tests.differential.peer import Peer
from tests.differential.requests.fetch import fill
from tests.differential.script import versions


@versions("list_offsets")
def list_offsets(peer: Peer, version: int) -> None:
    topic, empty = peer.topic("topic", partitions=2), peer.topic("empty")
    fill(peer, topic, "one", "two", "three")

    def ask(label: str, *topics: tuple[str, list[tuple[int, int]]], epoch: int = -1, **changes: Any) -> None:
        rows = [
            {
                "name": name,
                "partitions": [
                    {"partition_index": index, "current_leader_epoch": epoch, "timestamp": at} for index, at in wanted
                ],
            }
            for name, wanted in topics
        ]
        body = {"replica_id": -1, "isolation_level": 0, "topics": rows, "timeout": 10_000, **changes}
        peer.ask("list_offsets", version, body, label=label)

    ask("no topics")
    ask("no partitions", (topic, []))
    for at in (-1, -2, -3, -4, -5, -6, -7, -100):
        ask(f"timestamp {at}", (topic, [(0, at)]))
        ask(f"timestamp {at} of an empty partition", (empty, [(0, at)]))
    for offset in (-5, 0, 500, 1_000, 2_000, 2_001):
        ask(f"T{offset:+d}", (topic, [(0, peer.time(offset))]))
    ask("the year 1970", (topic, [(0, 0)]))
    ask("the end of time", (topic, [(0, (1 << 63) - 1)]))
    ask("read committed", (topic, [(0, -1)]), isolation_level=1)
    ask("an isolation level of 9", (topic, [(0, -1)]), isolation_level=9)
    ask("a replica that is not there", (topic, [(0, -1)]), replica_id=5)
    ask("a debugging consumer", (topic, [(0, -1)]), replica_id=-2)
    ask("two partitions", (topic, [(1, -1), (0, -1)]))
    ask("two topics", (topic, [(0, -1)]), (empty, [(0, -1)]))
    ask("a partition twice", (topic, [(0, -1), (0, -2)]))
    ask("a topic twice", (topic, [(0, -1)]), (topic, [(1, -1)]))
    ask("unknown topic", (peer.name("unknown"), [(0, -1)]))
    ask("unknown partition", (topic, [(9, -1)]))
    ask("partition -1", (topic, [(-1, -1)]))
    ask("known and unknown", (peer.name("unknown"), [(0, -1)]), (topic, [(0, -1)]))
    ask("a bad name", ("a/b", [(0, -1)]))
    if version >= 4:
        ask("the epoch of the leader", (topic, [(0, -1)]), epoch=0)
        ask("a newer epoch", (topic, [(0, -1)]), epoch=1)
        ask("epoch -2", (topic, [(0, -1)]), epoch=-2)
    if version >= 10:
        ask("no time", (topic, [(0, -3)]), timeout=0)


@versions("offset_for_leader_epoch")
def offset_for_leader_epoch(peer: Peer, version: int) -> None:
    topic, empty = peer.topic("topic", partitions=2), peer.topic("empty")
    fill(peer, topic, "one", "two")

    def ask(label: str, name: str, *rows: tuple[int, int, int], replica_id: int = -1) -> None:
        fields = ("partition", "current_leader_epoch", "leader_epoch")
        partitions = [dict(zip(fields, row, strict=True)) for row in rows]
        body = {"replica_id": replica_id, "topics": [{"topic": name, "partitions": partitions}]}
        peer.ask("offset_for_leader_epoch", version, body, label=label)

    peer.ask("offset_for_leader_epoch", version, {"replica_id": -1, "topics": []}, label="no topics")
    ask("no partitions", topic)
    ask("epoch 0", topic, (0, -1, 0))
    ask("epoch 0 of an empty partition", empty, (0, -1, 0))
    ask("epoch 1", topic, (0, -1, 1))
    ask("epoch -1", topic, (0, -1, -1))
    ask("epoch -2", topic, (0, -1, -2))
    ask("as the leader knows", topic, (0, 0, 0))
    ask("the leader has never heard of it", topic, (0, 1, 0))
    ask("two partitions", topic, (1, -1, 0), (0, -1, 0))
    ask("unknown partition", topic, (9, -1, 0))
    ask("partition -1", topic, (-1, -1, 0))
    ask("unknown topic", peer.name("unknown"), (0, -1, 0))
    ask("a bad name", "a/b", (0, -1, 0))
    ask("a debugging consumer", topic, (0, -1, 0), replica_id=-2)
    ask("a replica", topic, (0, -1, 0), replica_id=5)


@versions("delete_records")
def delete_records(peer: Peer, version: int) -> None:
    topic, empty = peer.topic("topic", partitions=2), peer.topic("empty")
    fill(peer, topic, "one", "two", "three")

    def ask(label: str, *topics: tuple[str, list[tuple[int, int]]], timeout: int = 10_000) -> None:
        rows = [
            {"name": name, "partitions": [{"partition_index": index, "offset": before} for index, before in wanted]}
            for name, wanted in topics
        ]
        peer.ask("delete_records", version, {"topics": rows, "timeout": timeout}, label=label)

    ask("no topics")
    ask("no partitions", (topic, []))
    ask("nothing", (topic, [(0, 0)]))
    ask("one record", (topic, [(0, 1)]))
    ask("what is gone already", (topic, [(0, 0)]))
    ask("past the end", (topic, [(0, 4)]))
    ask("offset -2", (topic, [(0, -2)]))
    ask("all", (topic, [(0, -1)]))
    ask("all of nothing", (empty, [(0, -1)]))
    ask("two partitions", (topic, [(1, 0), (0, 3)]))
    ask("unknown partition", (topic, [(9, 0)]))
    ask("partition -1", (topic, [(-1, 0)]))
    ask("unknown topic", (peer.name("unknown"), [(0, 0)]))
    ask("known and unknown", (peer.name("unknown"), [(0, 0)]), (topic, [(0, 3)]))
    ask("a bad name", ("a/b", [(0, 0)]))
    ask("a timeout of 0", (topic, [(0, 3)]), timeout=0)
    ask("of groups", ("__consumer_offsets", [(0, 0)]))
