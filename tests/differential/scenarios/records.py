"""Records as they are stored and read: codecs, headers, nulls, sizes, formats of old, and parts of batches."""

from typing import Any

from tests.differential.peer import Peer
from tests.differential.script import script
from tests.differential.steps.topics import (
    T0,
    create,
    fetch,
    fetch_body,
    list_offset,
    produce,
    produce_body,
    values,
    wanted,
)
from tests.support.batches import Record, batch, message_set

SEVERAL = (
    Record(key=b"key", value=b"value", timestamp_ms=T0),
    Record(key=None, value=b"no key", timestamp_ms=T0 + 1),
    Record(key=b"no value", value=None, timestamp_ms=T0 - 5),
    Record(key=None, value=None, timestamp_ms=T0),
    Record(key=b"", value=b"", timestamp_ms=T0 + 7),
    Record(value=b"headers", headers=(("a", b"1"), ("a", b"2"), ("", b""), ("null", None)), timestamp_ms=T0),
)


@script("record-codecs", seconds=2, family="records")
def codecs(peer: Peer) -> None:
    """Every codec at every version of Produce, read back at old and new versions of Fetch."""
    topic = create(peer, "codecs")
    for codec in range(5):
        for version in (3, 6, 7, 8, 9, 11, 12):
            produce(peer, topic, batch(SEVERAL, codec=codec), version=version, label=f"codec {codec}")
    produce(peer, topic, batch(SEVERAL, codec=1, attributes=4), label="codec 5")
    produce(peer, topic, batch(SEVERAL, attributes=7, body=b"?" * 50), label="codec 7")
    produce(peer, topic, batch(SEVERAL, codec=1, attributes=4, base_offset=5), label="codec 5 and a base offset")
    batches_a_codec, records_a_batch = 7, len(SEVERAL)
    for version in (4, 7, 10, 12):
        for codec in range(5):
            offset = codec * batches_a_codec * records_a_batch + 2
            fetch(peer, topic, offset, version=version, partition_max_bytes=1, label=f"codec {codec}")
    list_offset(peer, topic, -1)


@script("record-old-formats", seconds=1, family="records")
def old_formats(peer: Peer) -> None:
    """Messages of magic 0 and 1 are not accepted any more, nor bytes that only look like a batch."""
    topic = create(peer, "old")
    for version in (3, 7, 9, 12):
        for magic in (0, 1):
            produce(peer, topic, message_set(magic), version=version, label=f"magic {magic}")
        produce(peer, topic, message_set(1) + message_set(1), version=version, label="two of magic 1")
        produce(peer, topic, values("x", magic=3), version=version, label="magic 3")
        produce(peer, topic, values("x", magic=-1), version=version, label="magic -1")
        produce(peer, topic, values("x")[:40], version=version, label="part of a header")
        produce(peer, topic, values("x")[:12], version=version, label="only an offset and a length")
        produce(peer, topic, values("x")[:5], version=version, label="not even that")
        produce(peer, topic, values("x", length=20), version=version, label="a length that is too small")
        produce(peer, topic, values("x", length=5), version=version, label="a length that is far too small")
        produce(peer, topic, values("x", length=-1), version=version, label="a negative length")
        produce(peer, topic, values("x", length=10_000), version=version, label="a length beyond the end")
        produce(peer, topic, values("a") + values("b"), version=version, label="two batches")
        produce(peer, topic, values("x", crc=1), version=version, label="a wrong checksum")
    list_offset(peer, topic, -1)


@script("record-bad-batches", seconds=1, family="records")
def bad_batches(peer: Peer) -> None:
    """Headers that contradict themselves or claim what only a broker may say."""
    topic = create(peer, "bad")
    tries = {
        "a base offset": values("x", base_offset=5),
        "a negative base offset": values("x", base_offset=-1),
        "a leader epoch": values("x", leader_epoch=5),
        "control": values("x", attributes=0x20),
        "transactional": values("x", attributes=0x10),
        "unused attributes": values("x", attributes=0x1000),
        "a delete horizon": values("x", attributes=0x40),
        "no records": batch([], base_timestamp_ms=T0),
        "a count of 0": values("x", count=0),
        "a count of 2": values("x", count=2),
        "a last offset of 5": values("x", last_offset_delta=5),
        "a negative last offset": values("x", last_offset_delta=-1),
    }
    for version in (3, 8, 9):
        for label, records in tries.items():
            produce(peer, topic, records, version=version, label=label)
    list_offset(peer, topic, -1)
    produce(peer, topic, values("x", attributes=0x08), label="stamped by the client")
    stamped = peer.topic("stamped")
    for codec in (0, 1):
        produce(peer, stamped, batch(SEVERAL, codec=codec, attributes=0x08), label=f"stamped, codec {codec}")
        produce(peer, stamped, batch(SEVERAL, codec=codec, attributes=0x08, max_timestamp_ms=T0 + 99), label="later")
        produce(peer, stamped, batch(SEVERAL, codec=codec, attributes=0x08, max_timestamp_ms=-1), label="no time")
    late = peer.time(7_200_000)
    produce(peer, stamped, batch(SEVERAL, attributes=0x08, max_timestamp_ms=late), label="in two hours")
    fetch(peer, stamped, 0, label="stamped by the client")


@script("record-acks", seconds=1, family="records")
def acks(peer: Peer) -> None:
    """Which acks are answered, and how; several partitions and topics in one request."""
    topic = create(peer, "acks", partitions=2)
    for version in (3, 9, 12):
        for wanted_acks in (1, -1, 2, -2):
            body = produce_body(topic, {0: values("a"), 1: values("b")}, acks=wanted_acks)
            peer.ask("produce", version, body, label=f"acks {wanted_acks}")
    body = produce_body(topic, {0: values("a"), 5: values("b")})
    peer.ask("produce", 9, body, label="one partition that is not there")
    body = produce_body(topic, {})
    peer.ask("produce", 9, body, label="a topic without partitions")
    peer.ask("produce", 9, body | {"topic_data": []}, label="nothing at all")
    peer.tell("produce", 9, produce_body(topic, {0: values("silent")}, acks=0), on="silent")
    list_offset(peer, topic, -1, partition=1)


@script("record-parts", seconds=2, family="records")
def parts(peer: Peer) -> None:
    """Fetches with limits: at least one batch, however large; the order of partitions is that of the request."""
    topic = create(peer, "parts", partitions=3)
    for partition in range(3):
        produce(peer, topic, values("a" * 100, "b" * 100), partition=partition)
        produce(peer, topic, values("c" * 1000), partition=partition)
    for limit in (0, 1, 100, 270, 300, 1_000, 5_000):
        fetch(peer, topic, 0, partition_max_bytes=limit, label=f"{limit} bytes of a partition")
        order = (2, 0, 1)
        everything = [wanted(0, partition=each) for each in order]
        peer.ask("fetch", 12, fetch_body({topic: everything}, max_bytes=limit), label=f"{limit} bytes of three")
        some = [wanted(0, partition=each, partition_max_bytes=limit) for each in order]
        peer.ask("fetch", 12, fetch_body({topic: some}), label=f"{limit} bytes of each")
    for offset in (1, 2, 3, 4, -1):
        fetch(peer, topic, offset, partition_max_bytes=50, label=f"from {offset}")
    twice = [wanted(0), wanted(2), wanted(0, partition=1)]
    peer.ask("fetch", 12, fetch_body({topic: twice}), label="a partition twice")


@script("record-isolation", seconds=1, family="records")
def isolation(peer: Peer) -> None:
    """read_committed without transactions, over the versions."""
    topic = create(peer, "isolation")
    produce(peer, topic, values("a"))
    for version in (4, 5, 7, 11, 12):
        for level in (0, 1, 2):
            for offset in (0, 1, 9):
                body = fetch_body({topic: [wanted(offset)]}, isolation_level=level)
                peer.ask("fetch", version, body, label=f"isolation {level}")
        body = fetch_body({topic: [wanted(1)]}, max_wait=100, min_bytes=10)
        peer.ask("fetch", version, body, label="waits in vain")


@script("record-waits", seconds=2, family="records")
def waits(peer: Peer) -> None:
    """min_bytes and max_wait: what ends the wait of a fetch."""
    topic = create(peer, "waits", partitions=2)

    def start(label: str, **limits: Any) -> None:
        body = fetch_body({topic: [wanted(0), wanted(0, partition=1)]}, **limits)
        waiting = peer.send("fetch", 11, body, on="waiting", label=label)
        assert peer.pending(waiting, for_s=0.15)
        produce(peer, topic, values("x" * 100), partition=1)
        peer.take(waiting)

    peer.ask("fetch", 11, fetch_body({topic: [wanted(0)]}, max_wait=0, min_bytes=100), label="does not wait")
    peer.ask("fetch", 11, fetch_body({topic: [wanted(0)]}, max_wait=100, min_bytes=0), label="wants nothing")
    peer.ask("fetch", 11, fetch_body({}, max_wait=5_000), label="of nothing")
    start("until there is something", max_wait=8_000, min_bytes=1)
    start("until there is enough", max_wait=8_000, min_bytes=200)
    body = fetch_body({topic: [wanted(0, partition=1)]}, max_wait=100, min_bytes=100_000)
    peer.ask("fetch", 11, body, label="never enough")
    body = fetch_body({topic: [wanted(7)]}, max_wait=8_000)
    peer.ask("fetch", 11, body, label="an error does not wait")
    body = fetch_body({topic: [wanted(0, partition=9)]}, max_wait=8_000)
    peer.ask("fetch", 11, body, label="an unknown partition does not wait")
