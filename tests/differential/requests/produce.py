"""Produce: batches right, borderline and wrong, by name up to v12 and by topic id from v13 on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.differential.frames import old_produce
from tests.differential.peer import Peer
from tests.differential.requests.topics import NO_SUCH_ID
from tests.differential.script import script, versions
from tests.support.batches import (
    CODEC_GZIP,
    CODEC_LZ4,
    CODEC_SNAPPY,
    CODEC_ZSTD,
    CONTROL,
    LOG_APPEND_TIME,
    TRANSACTIONAL,
    Record,
    batch,
    message_set,
    values,
)

HOUR_MS = 3_600_000
FIRST_VERSION = 3  # that is taken
Ask = Callable[..., Any]


def rows(peer: Peer, topic: str, *batches: bytes | None, partition: int = 0) -> dict[str, Any]:
    data = [{"index": partition, "records": each} for each in batches]
    return {"name": topic, "topic_id": peer.topic_id(topic), "partition_data": data}


def asker(peer: Peer, version: int) -> Ask:
    def ask(label: str, *topics: dict[str, Any], within_s: float = 10.0, **changes: Any) -> Any:
        body = {"transactional_id": None, "acks": -1, "timeout": 10_000, "topic_data": list(topics), **changes}
        return peer.ask("produce", version, body, label=label, within_s=within_s)

    return ask


@versions("produce", seconds=2)
def produce(peer: Peer, version: int) -> None:
    ask, topic = asker(peer, version), peer.topic("topic", partitions=2)
    good = values("a", "b", base_timestamp_ms=peer.time())
    ask("no topics")
    ask("no partitions", rows(peer, topic))
    ask("two records", rows(peer, topic, good))
    ask("acks=1", rows(peer, topic, good), acks=1)
    ask("a timeout of 0", rows(peer, topic, good), timeout=0)
    ask("a negative timeout", rows(peer, topic, good), timeout=-1)
    ask("a key, a header, a null value", rows(peer, topic, batch([_full(peer)])))
    ask("two topics", rows(peer, topic, good), rows(peer, peer.topic("second"), good))
    both = [{"index": 1, "records": good}, {"index": 0, "records": good}]
    ask("two partitions", {**rows(peer, topic), "partition_data": both})
    for codec in (CODEC_GZIP, CODEC_SNAPPY, CODEC_LZ4, CODEC_ZSTD):
        ask(f"codec {codec}", rows(peer, topic, values("a", "b", codec=codec, base_timestamp_ms=peer.time())))
    for acks in (2, -2, 32_767):
        ask(f"acks={acks}", rows(peer, topic, good), acks=acks)
    _wrong_places(peer, ask, topic, good)
    _wrong_batches(peer, ask, topic, good)


def _full(peer: Peer) -> Record:
    return Record(key=b"k", value=None, headers=(("h", b"1"), ("h", None)), timestamp_ms=peer.time(5))


def _wrong_places(peer: Peer, ask: Ask, topic: str, good: bytes) -> None:
    unknown = {"name": peer.name("unknown"), "topic_id": NO_SUCH_ID, "partition_data": [{"index": 0, "records": good}]}
    ask("unknown topic", unknown)
    ask("an unknown topic beside a known one", unknown, rows(peer, topic, good))
    ask("a bad name", {**unknown, "name": "a/b"})
    ask("no name, no id", {**unknown, "name": "", "topic_id": None})
    ask("unknown partition", rows(peer, topic, good, partition=9))
    ask("partition -1", rows(peer, topic, good, partition=-1))
    ask("a transactional id for plain records", rows(peer, topic, good), transactional_id=peer.name("transaction"))


def _wrong_batches(peer: Peer, ask: Ask, topic: str, good: bytes) -> None:
    ask("a wrong checksum", rows(peer, topic, values("a", crc=1)))
    ask("magic 0", rows(peer, topic, message_set(0)))
    ask("magic 1", rows(peer, topic, message_set(1)))
    ask("magic 3", rows(peer, topic, values("a", magic=3)))
    ask("two batches", rows(peer, topic, good + good))
    ask("no bytes", rows(peer, topic, b""))
    ask("a control batch", rows(peer, topic, values("a", attributes=CONTROL)))
    ask("a base offset", rows(peer, topic, values("a", base_offset=5, base_timestamp_ms=peer.time())))
    ask("no records in the batch", rows(peer, topic, batch([])))
    ask("a batch that is cut off", rows(peer, topic, good[:-1]))
    ask("a header that is cut off", rows(peer, topic, good[:30]))
    ask("a length that is too small", rows(peer, topic, values("a", length=10)))
    ask("a negative length", rows(peer, topic, values("a", length=-1)))
    ask("a timestamp in two hours", rows(peer, topic, values("a", base_timestamp_ms=peer.time(2 * HOUR_MS))))
    ask("a negative timestamp", rows(peer, topic, values("a", base_timestamp_ms=-1)))
    late = batch([Record(timestamp_ms=peer.time(each)) for each in (0, 2 * HOUR_MS, 5, 3 * HOUR_MS)])
    ask("two of four too soon", rows(peer, topic, late))
    beside = [{"index": 0, "records": values("a", magic=3)}, {"index": 1, "records": good}]
    ask("magic 3 beside a good one", {**rows(peer, topic), "partition_data": beside})
    beside = [{"index": 0, "records": good}, {"index": 1, "records": values("a", codec=CODEC_GZIP, attributes=4)}]
    ask("a good one beside codec 5", {**rows(peer, topic), "partition_data": beside})
    ask("a transactional batch without an id", rows(peer, topic, _owned(peer, attributes=TRANSACTIONAL)))
    ask("a producer without a sequence", rows(peer, topic, _owned(peer, base_sequence=-1)))
    ask("a sequence of nobody", rows(peer, topic, values("a", base_sequence=0, base_timestamp_ms=peer.time())))


def _owned(peer: Peer, **changes: Any) -> bytes:
    """A batch of a producer that the broker has never heard of."""
    fields = {"producer_id": 4_000_000, "producer_epoch": 0, "base_sequence": 0, "base_timestamp_ms": peer.time()}
    return values("a", **{**fields, **changes})


@versions("produce", name="produce-topics", seconds=2)
def produce_topics(peer: Peer, version: int) -> None:
    """Requests whose answers depend on the configs of a topic."""
    ask, good = asker(peer, version), values("a", "b", base_timestamp_ms=peer.time())
    small = peer.topic("small", configs={"max.message.bytes": "100"})
    ask("small enough", rows(peer, small, values("a", base_timestamp_ms=peer.time())))
    ask("too large", rows(peer, small, values("a" * 100)))
    compacted = peer.topic("compacted", configs={"cleanup.policy": "compact"})
    ask("with a key", rows(peer, compacted, batch([Record(key=b"k")])))
    ask("without a key", rows(peer, compacted, good))
    mixed = batch([Record(key=b"k"), Record(), Record(key=b"l"), Record()])
    ask("two of four without a key", rows(peer, compacted, mixed))
    stamped = peer.topic("stamped", configs={"message.timestamp.type": "LogAppendTime"})
    ask("stamped by the broker", rows(peer, stamped, good))
    ask("stamped by both", rows(peer, stamped, values("a", attributes=LOG_APPEND_TIME, base_timestamp_ms=peer.time())))
    twice = values("a", "b", attributes=LOG_APPEND_TIME, base_timestamp_ms=peer.time())
    ask("two records stamped by both", rows(peer, stamped, twice))
    ask("in two hours, stamped", rows(peer, stamped, values("a", base_timestamp_ms=peer.time(2 * HOUR_MS))))
    recent = peer.topic("recent", configs={"message.timestamp.before.max.ms": "1000"})
    ask("an hour ago", rows(peer, recent, values("a", base_timestamp_ms=peer.time(-HOUR_MS))))
    ask("now", rows(peer, recent, values("a")))
    old = batch([Record(timestamp_ms=peer.time(each)) for each in (-HOUR_MS, 60_000, -2 * HOUR_MS)], codec=CODEC_GZIP)
    ask("two of three too old, compressed", rows(peer, recent, old))
    zipped = peer.topic("zipped", configs={"compression.type": "gzip"})
    ask("compressed by the broker", rows(peer, zipped, good))
    plain = peer.topic("plain", configs={"compression.type": "uncompressed"})
    ask("uncompressed by the broker", rows(peer, plain, values("a", codec=CODEC_GZIP, base_timestamp_ms=peer.time())))
    guarded = peer.topic("guarded", configs={"min.insync.replicas": "2"})
    ask("two replicas in sync wanted", rows(peer, guarded, good))
    ask("two replicas in sync wanted, acks=1", rows(peer, guarded, good), acks=1)


@versions("produce", name="produce-unanswered", seconds=4)
def produce_unanswered(peer: Peer, version: int) -> None:
    """acks=0: silence, or a closed connection; what is stored shows in the offset of the next."""
    topic = peer.topic()
    good = values("a", base_timestamp_ms=peer.time())

    def tell(*topics: dict[str, Any], on: str) -> None:
        peer.tell("produce", version, {"acks": 0, "timeout": 10_000, "topic_data": list(topics)}, on=on)

    tell(rows(peer, topic, good), on="quiet")
    body = {"acks": -1, "timeout": 10_000, "topic_data": [rows(peer, topic, good)]}
    peer.ask("produce", version, body, on="quiet", label="after one without an answer")
    unknown = {"name": peer.name("unknown"), "topic_id": NO_SUCH_ID, "partition_data": [{"index": 0, "records": good}]}
    tell(unknown, on="unknown")
    peer.expect_close(on="unknown", label="acks=0 to an unknown topic")
    tell(rows(peer, topic, values("a", crc=1)), on="corrupt")
    peer.expect_close(on="corrupt", label="acks=0 with a wrong checksum")


@script("produce-old-versions", seconds=1)
def produce_old_versions(peer: Peer) -> None:
    """Advertised for the sake of librdkafka (KAFKA-18659) and not taken, however right the request is."""
    topic = peer.topic()
    for version in range(FIRST_VERSION):
        for label, acks in (("a message set", -1), ("a message set, acks=0", 0)):
            payload = old_produce(version, topic, message_set(min(version, 1)), acks=acks)
            peer.malformed("produce", version, payload, label=label)
    ask = asker(peer, FIRST_VERSION)
    ask("nothing was stored", rows(peer, topic, values("a", base_timestamp_ms=peer.time())))


@script("produce-never-answered", seconds=8)
def produce_never_answered(peer: Peer) -> None:
    """Requests on which Kafka's threads fail, so that the client waits forever."""
    ask, topic = asker(peer, 9), peer.topic()
    ask("null records", rows(peer, topic, None), within_s=1.5)
    good = values("a", base_timestamp_ms=peer.time())
    ask("a partition twice", rows(peer, topic, good, good), within_s=1.5)


@script("produce-records", seconds=3, settings={"penstock.topics.validation": "records"})
def produce_records(peer: Peer) -> None:
    """Batches whose header is right and whose records are not, where Penstock looks at every record, too."""
    ask, topic = asker(peer, 9), peer.topic()

    def one(label: str, **changes: Any) -> None:
        ask(label, rows(peer, topic, values("a", "b", base_timestamp_ms=peer.time(), **changes)))

    one("right")
    one("records that are no records", body=b"\xff\xff\xff\xff")
    one("no records at all", body=b"")
    one("fewer records than the count", count=3, last_offset_delta=2)
    one("more records than the count", count=1, last_offset_delta=0)
    one("a count that is not the last offset", count=5)
    one("a negative count", count=-1)
    one("gzip that is none", codec=CODEC_GZIP, body=b"this is not gzip")
    one("snappy that is none", codec=CODEC_SNAPPY, body=b"\xff" * 16)
    one("lz4 that is none", codec=CODEC_LZ4, body=b"\xff" * 16)
    one("zstd that is none", codec=CODEC_ZSTD, body=b"\xff" * 16)
    one("a maximum that is too small", max_timestamp_ms=peer.time(-5))
    one("after all of them")
