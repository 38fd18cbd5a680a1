"""Fetch over many small segments: an answer goes on from one to the next, and holds them while it is on its way.

Apache Kafka ends each answer with its segment; to clients that makes no difference but the number of requests.
"""

from collections.abc import Callable

import pytest
from kio.schema.errors import ErrorCode

from tests.support import batches
from tests.support.batches import StoredBatch, decode_batches
from tests.support.raw_client import RawClient
from tests.support.readable import is_readable
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("F-01")

SEGMENT_BYTES = 1 << 20
BATCH_BYTES = 300_000  # three of these to a segment
FETCH_BYTES = 4 << 20
ANSWER_BYTES = 30 << 20  # far more than the sockets' buffers hold
GONE_WITHIN_S = 60.0


def filled(client: RawClient, size_bytes: int) -> tuple[str, int]:
    """A topic of small segments and its number of batches, each with a record that tells which one it is."""
    topic = client.create_topic(configs={"segment.bytes": str(SEGMENT_BYTES)})
    count = size_bytes // BATCH_BYTES
    for number in range(count):
        client.appended(topic, batches.values(f"{number:06}" * (BATCH_BYTES // 6)))
    return topic, count


def check(found: list[StoredBatch], first: int) -> None:
    for number, batch in enumerate(found, first):
        assert batch.base_offset == number
        assert batch.crc_is_right


def stored_bytes(client: RawClient, topic: str) -> int:
    (result,) = client.call("describe_log_dirs", 4, topics=[{"topic": topic, "partitions": [0]}]).results
    return int(result.topics[0].partitions[0].partition_size)


@pytest.mark.usefixtures("penstock_only")
@pytest.mark.parametrize("isolation_level", [0, 1])
def test_ten_segments_in_three_requests(client: RawClient, isolation_level: int) -> None:
    """A reader gets as much as it asks for, however small the segments are."""
    topic, count = filled(client, 10 * SEGMENT_BYTES)
    portions: list[int] = []
    while sum(portions) < count:
        found = client.fetch_batches(
            topic, sum(portions), partition_max_bytes=FETCH_BYTES, isolation_level=isolation_level
        )
        check(found, sum(portions))
        portions.append(len(found))
    fitting = FETCH_BYTES // (BATCH_BYTES + 100)
    assert portions == [fitting, fitting, count - 2 * fitting]


def test_a_request_for_much_gets_it_without_waiting(client: RawClient) -> None:
    """A reader who wants no less than two segments does not wait for news at the end of one."""
    topic, count = filled(client, 4 * SEGMENT_BYTES)
    found = client.fetch_batches(topic, 2, min_bytes=2 * SEGMENT_BYTES, max_wait=60_000)
    check(found, 2)
    assert 2 < len(found) <= count - 2


@pytest.mark.usefixtures("penstock_only")
def test_segments_are_deleted_while_a_slow_reader_receives_them(
    client: RawClient, connect: Callable[[], RawClient]
) -> None:
    """An answer that has begun is sent to its end; the next request gets an error because the data is gone."""
    topic, count = filled(client, ANSWER_BYTES)
    slow = connect()
    slow.send("fetch", 12, **client.fetch_values(topic, 0, partition_max_bytes=2 * ANSWER_BYTES))
    assert is_readable(slow, GONE_WITHIN_S)
    assert client.delete_records(topic, count).low_watermark == count
    wait_until(
        lambda: stored_bytes(client, topic) <= SEGMENT_BYTES, what="the segments are gone", within_s=GONE_WITHIN_S
    )
    _, answer = slow.receive("fetch", 12)
    (partition,) = answer.responses[0].partitions
    found = decode_batches(partition.records)
    check(found, 0)
    assert len(found) == count
    assert slow.fetch(topic, 0).error_code == ErrorCode.offset_out_of_range
