"""Records as items of DATA frames: which are taken, and from which one the delivery time is measured."""

from __future__ import annotations

import pytest

from penstock.broker.delivery.reading.lookup import read_chunk
from penstock.model.batch_builder import NewRecord, build_batch

pytestmark = pytest.mark.feature("P-09")

PLAIN = [NewRecord(b"k", b"v%d" % number, (), 1_000 + 10 * number) for number in range(5)]
WITH_HEADERS = [record._replace(headers=(("h", b"x"),)) for record in PLAIN]


@pytest.mark.parametrize("records", [PLAIN, WITH_HEADERS], ids=["plain", "with headers"])
@pytest.mark.parametrize("start", [0, 1, 4])
def test_the_delivery_time_counts_from_the_first_message_that_is_taken(records: list[NewRecord], start: int) -> None:
    batch = bytes(build_batch(records, timestamp=0))
    chunk = read_chunk(batch, 0, start=start, next_offset=5, ttl_ms=-1, now_ms=2_000)
    assert chunk.offsets == list(range(start, 5))
    assert chunk.first_timestamp == 1_000 + 10 * start


@pytest.mark.parametrize("records", [PLAIN, WITH_HEADERS], ids=["plain", "with headers"])
def test_the_first_of_several_batches_gives_the_time(records: list[NewRecord]) -> None:
    later = [record._replace(timestamp=(record.timestamp or 0) + 500) for record in records]
    batches = bytes(build_batch(records, timestamp=0) + build_batch(later, timestamp=0, base_offset=5))
    chunk = read_chunk(batches, 0, start=2, next_offset=10, ttl_ms=-1, now_ms=2_000)
    assert chunk.offsets == list(range(2, 10))
    assert chunk.first_timestamp == 1_020


def test_a_batch_whose_messages_were_all_sent_before_gives_no_time() -> None:
    batches = bytes(build_batch(PLAIN, timestamp=0) + build_batch(PLAIN, timestamp=0, base_offset=5))
    chunk = read_chunk(batches, 0, start=6, next_offset=10, ttl_ms=-1, now_ms=2_000)
    assert chunk.offsets == [6, 7, 8, 9]
    assert chunk.first_timestamp == 1_010
