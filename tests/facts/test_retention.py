"""Removal of old records: retention by size and age, and compaction, seen from outside."""

import pytest
from kio.schema.errors import ErrorCode

from tests.support import batches
from tests.support.batches import Record, now_ms
from tests.support.raw_client import EARLIEST, RawClient
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("K-13", "P-02")

HOUR_MS = 3_600_000
SEGMENT_BYTES = 1 << 20
FILLER = b"x" * 300_000  # four of these roll a segment
CLEANED_WITHIN_S = 60.0


def test_retention_by_size(client: RawClient) -> None:
    """`retention.bytes` removes whole old segments; what remains is readable from the new log start."""
    topic = client.create_topic(
        configs={"segment.bytes": str(SEGMENT_BYTES), "retention.bytes": str(2 * SEGMENT_BYTES)}
    )
    for _ in range(20):
        client.appended(topic, batches.values(FILLER))
    wait_until(lambda: client.log_start(topic) > 0, what="old segments are gone", within_s=CLEANED_WITHIN_S)
    start = client.log_start(topic)
    assert client.log_end(topic) == 20
    assert client.fetch(topic, start - 1).error_code == ErrorCode.offset_out_of_range
    assert client.fetch_batches(topic, start)[0].base_offset == start


def test_retention_by_age(client: RawClient) -> None:
    """`retention.ms` removes what is older, the newest segment included, and offsets go on from there."""
    topic = client.create_topic(configs={"retention.ms": str(HOUR_MS)})
    old = now_ms() - 2 * HOUR_MS
    client.appended(topic, batches.batch([Record(timestamp_ms=old), Record(timestamp_ms=old + 1)]))
    wait_until(lambda: client.log_start(topic) == 2, what="the old records are gone", within_s=CLEANED_WITHIN_S)
    assert client.log_end(topic) == 2
    assert client.appended(topic, batches.values("new")) == 2


def test_no_retention_for_a_compacted_topic(client: RawClient) -> None:
    """A topic that is only compacted keeps its records however old they are."""
    compacted = client.create_topic(configs={"cleanup.policy": "compact", "retention.ms": "1000"})
    plain = client.create_topic(configs={"retention.ms": "1000"})
    old = batches.batch([Record(key=b"k", timestamp_ms=now_ms() - HOUR_MS)])
    for topic in (compacted, plain):
        client.appended(topic, old)
    wait_until(lambda: client.log_start(plain) == 1, what="retention has run", within_s=CLEANED_WITHIN_S)
    assert client.log_start(compacted) == 0


@pytest.fixture(scope="module")
def compaction() -> dict[str, str]:
    return {
        "cleanup.policy": "compact",
        "segment.bytes": str(SEGMENT_BYTES),
        "min.cleanable.dirty.ratio": "0.01",
        "delete.retention.ms": "0",
    }


def offsets(client: RawClient, topic: str) -> list[int]:
    """The offsets that a reader from the beginning sees."""
    seen: list[int] = []
    position, end = client.log_start(topic), client.log_end(topic)
    while position < end:
        portion = client.fetch_batches(topic, position)
        assert portion, f"nothing at {position} below the end {end}"
        seen += [record.offset for batch in portion for record in batch.records]
        position = portion[-1].last_offset + 1
    return seen


def test_compaction_keeps_the_last_value_of_each_key(client: RawClient, compaction: dict[str, str]) -> None:
    """Compaction keeps each key's last record with its own offset and time; readers see the same end as before."""
    topic = client.create_topic(configs=compaction)
    base = now_ms() - HOUR_MS
    for number in range(12):
        record = Record(key=b"key %d" % (number % 3), value=FILLER, timestamp_ms=base + number * 1000)
        client.appended(topic, batches.batch([record]))
    client.appended(topic, batches.batch([Record(key=b"key 0", value=None), Record(key=b"last")]))
    end = client.log_end(topic)

    wait_until(lambda: len(offsets(client, topic)) <= 8, what="it is compacted", within_s=CLEANED_WITHIN_S)

    remaining = offsets(client, topic)
    assert remaining == sorted(remaining)
    assert {10, 11, 12, 13} <= set(remaining)  # the last ones of keys 1 and 2, the tombstone, the last record
    assert client.log_end(topic) == end
    assert client.log_start(topic) == 0
    by_offset = {record.offset: record for record in client.fetch_records(topic, remaining[0])}
    assert all(record.timestamp_ms == base + 1000 * offset for offset, record in by_offset.items() if offset < 12)


@pytest.mark.usefixtures("penstock_only")
def test_list_offsets_after_compaction(client: RawClient, compaction: dict[str, str]) -> None:
    """By time, a record that compaction removed is answered with the next one that is left.

    Kafka says −1 where the segment that held the removed record has nothing left.
    """
    topic = client.create_topic(configs=compaction)
    base = now_ms() - HOUR_MS
    for number in range(12):
        record = Record(key=b"the key", value=FILLER, timestamp_ms=base + number * 1000)
        client.appended(topic, batches.batch([record]))
    wait_until(lambda: len(offsets(client, topic)) <= 5, what="it is compacted", within_s=CLEANED_WITHIN_S)
    first, *_ = offsets(client, topic)
    assert first > 0
    for number in range(first):
        found = client.list_offset(topic, base + number * 1000)
        assert (found.offset, found.timestamp) == (first, base + first * 1000)
    assert client.list_offset(topic, EARLIEST).offset == 0
    last = client.list_offset(topic, base + 11_000)
    assert (last.offset, last.timestamp) == (11, base + 11_000)
