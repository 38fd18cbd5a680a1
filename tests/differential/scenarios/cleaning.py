"""Compaction, retention and DeleteRecords, seen from outside: what remains readable, and at which offsets."""

from typing import Any

from tests.differential.peer import Answer, Peer
from tests.differential.script import script
from tests.differential.steps.configs import SET, TOPIC, change
from tests.differential.steps.topics import (
    EARLIEST,
    LATEST,
    MAX_TIMESTAMP,
    T0,
    create,
    delete_records,
    fetch,
    keyed,
    list_offset,
    produce,
    produce_body,
    values,
)
from tests.support.batches import CODEC_LZ4

CLEANED: dict[str, Any] = {"cleanup_policy": "compact", "min_cleanable_dirty_ratio": "0.0", "segment_ms": "100"}
WITHIN_S = 30.0


def _keys(answer: Answer) -> list[str]:
    rows = answer["responses"][0]["partitions"][0]["records"]
    return [record["key"] for batch in rows for record in batch.get("records", [])]


def _until_keys(peer: Peer, topic: str, expected: list[str], **more: Any) -> Answer:
    """Poll until exactly these keys are left, and record what is there. A fetch may end with its segment, or not."""
    return peer.until(
        lambda: fetch(peer, topic, 0, **more),
        lambda answer: [key for key in _keys(answer) if key != "roll"] == expected,
        within_s=WITHIN_S,
        every_s=0.2,
    )


def _until_begins(peer: Peer, topic: str, offset: int) -> Answer:
    """Poll until this is the first offset that can be read."""
    return peer.until(
        lambda: list_offset(peer, topic, EARLIEST),
        lambda answer: answer["topics"][0]["partitions"][0]["offset"] == offset,
        within_s=WITHIN_S,
    )


def _roll(peer: Peer, topic: str, at: int, key: str = "roll") -> None:
    """A record so much later that it goes into a segment of its own, which is never cleaned."""
    produce(peer, topic, keyed([(key, "r")], at=T0 + at), label="roll")


@script("compaction-keys", seconds=3, family="cleaning")
def compaction_keys(peer: Peer) -> None:
    """The last value of each key stays, at its offset, in its batch."""
    topic = create(peer, "keys", **CLEANED)
    produce(peer, topic, keyed([("a", "1"), ("b", "1"), ("c", "1")]))
    produce(peer, topic, keyed([("a", "2"), ("d", "1")]))
    produce(peer, topic, keyed([("b", "2")], codec=CODEC_LZ4))
    produce(peer, topic, keyed([("a", "3"), ("a", "4"), ("b", "3"), ("e", "1")], codec=CODEC_LZ4))
    _roll(peer, topic, 1_000)
    _until_keys(peer, topic, ["c", "d", "a", "b", "e"])
    for offset in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11):
        fetch(peer, topic, offset, label=f"from {offset}")
    list_offset(peer, topic, EARLIEST, LATEST, T0, MAX_TIMESTAMP)
    produce(peer, topic, values("no key"), label="no key")


@script("compaction-tombstones", seconds=3, family="cleaning")
def compaction_tombstones(peer: Peer) -> None:
    """A tombstone removes what came before; it stays itself while delete.retention.ms is not over."""
    topic = create(peer, "tombstones", **CLEANED)
    produce(peer, topic, keyed([("a", "1"), ("b", "1")]))
    produce(peer, topic, keyed([("a", None), ("c", "1"), ("c", None)]))
    produce(peer, topic, keyed([("b", None), ("b", "2")]))
    _roll(peer, topic, 1_000)
    _until_keys(peer, topic, ["a", "c", "b"])
    list_offset(peer, topic, EARLIEST, LATEST)


@script("compaction-tombstones-gone", seconds=4, family="cleaning")
def compaction_tombstones_gone(peer: Peer) -> None:
    """Without a delete.retention.ms tombstones go, too, one cleaning later."""
    topic = create(peer, "gone", delete_retention_ms="0", **CLEANED)
    produce(peer, topic, keyed([("a", "1"), ("b", "1")]))
    produce(peer, topic, keyed([("a", None)]))
    _roll(peer, topic, 1_000)
    _until_keys(peer, topic, ["b", "a"])
    _roll(peer, topic, 2_000, "second")
    peer.until(
        lambda: fetch(peer, topic, 0),
        lambda answer: "a" not in _keys(answer),
        within_s=WITHIN_S,
        every_s=0.2,
    )
    list_offset(peer, topic, EARLIEST, LATEST)


@script("retention-bytes", seconds=3, family="cleaning")
def retention_bytes(peer: Peer) -> None:
    """Whole segments go while the rest is large enough; the log begins where the first one left does."""
    topic = create(peer, "bytes", segment_ms="100", retention_bytes="3000")
    for number in range(6):
        # The first ones may go while the last ones come.
        peer.quietly("produce", 9, produce_body(topic, {0: values("x" * 932, at=T0 + 1_000 * number)}))
    _until_begins(peer, topic, 3)
    for offset in (0, 2, 3, 5, 6, 7):
        fetch(peer, topic, offset, label=f"from {offset}")
    list_offset(peer, topic, T0, T0 + 3_000, LATEST, MAX_TIMESTAMP)


@script("retention-time", seconds=3, family="cleaning")
def retention_time(peer: Peer) -> None:
    """Segments whose newest record is too old go, the last one, too."""
    topic = create(peer, "time", segment_ms="100")
    for number in range(3):
        produce(peer, topic, values("old", at=T0 + 1_000 * number), label=f"number {number}")
    produce(peer, topic, values("new", at=peer.time(0)), label="new")
    change(peer, TOPIC, topic, [("retention.ms", SET, "86400000")])
    _until_begins(peer, topic, 3)
    fetch(peer, topic, 0)
    fetch(peer, topic, 3)
    list_offset(peer, topic, T0, LATEST)
    all_old = create(peer, "all-old")
    produce(peer, all_old, values("old"))
    change(peer, TOPIC, all_old, [("retention.ms", SET, "86400000")])
    _until_begins(peer, all_old, 1)
    fetch(peer, all_old, 0)
    fetch(peer, all_old, 1)
    produce(peer, all_old, values("new", at=peer.time(0)))
    list_offset(peer, all_old, LATEST)


@script("delete-records", seconds=2, family="delete-records-edges")
def delete_records_edges(peer: Peer) -> None:
    """DeleteRecords to every place of a log: inside a batch, its end, -1, beyond, below, negative."""
    for version in (0, 1, 2):
        topic = create(peer, f"edges-{version}", partitions=2)
        delete_records(peer, topic, 0, version=version)
        delete_records(peer, topic, 1, version=version)
        delete_records(peer, topic, -1, version=version)
        produce(peer, topic, values("a", "b", "c"))
        produce(peer, topic, values("d"))
        for before in (0, 1, 1, 0, 2, -2, 5, 3):
            delete_records(peer, topic, before, version=version)
            list_offset(peer, topic, EARLIEST, LATEST)
            fetch(peer, topic, 0)
            fetch(peer, topic, max(before, 1))
        delete_records(peer, topic, -1, version=version)
        fetch(peer, topic, 3)
        fetch(peer, topic, 4)
        list_offset(peer, topic, T0, EARLIEST, LATEST)
        produce(peer, topic, values("e"))
        delete_records(peer, topic, 0, partition=7, version=version)
        delete_records(peer, peer.name("missing"), 0, version=version)
        peer.ask("delete_records", version, {"topics": [], "timeout": 1_000})
    compacted = create(peer, "compacted", cleanup_policy="compact")
    delete_records(peer, compacted, 0)
    both = create(peer, "both", cleanup_policy="compact,delete")
    produce(peer, both, keyed([("a", "1"), ("b", "2")]))
    delete_records(peer, both, 1)
    fetch(peer, both, 0)
