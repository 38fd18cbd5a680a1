"""Reads of uncached data after a restart: correct, in order, and without holding up other clients."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import batches
from tests.support.penstock_process import PenstockProcess
from tests.support.raw_client import RawClient

BATCHES = 200
VALUE = bytes(100_000)
SEGMENT_BYTES = 4 << 20


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[PenstockProcess]:
    process = PenstockProcess(tmp_path)
    process.prepare()
    process.start()
    yield process
    process.stop()


def forget_pages(directory: Path) -> int:
    """Ask the kernel to drop the cached pages of every segment; returns how many there are."""
    count = 0
    for path in directory.rglob("*.log"):
        fd = os.open(path, os.O_RDONLY)
        os.fdatasync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)
        count += 1
    return count


def read_all(client: RawClient, topic: str) -> list[int]:
    offsets: list[int] = []
    while len(offsets) < BATCHES:
        found = client.fetch_batches(topic, len(offsets), max_wait=0, max_bytes=1_000_000)
        assert found, f"nothing at offset {len(offsets)}"
        offsets += [batch.base_offset for batch in found]
    return offsets


@pytest.mark.feature("P-02", "P-03")
def test_cold_segments_are_read_whole_and_in_order(broker: PenstockProcess) -> None:
    with RawClient(broker.host, broker.port) as client:
        topic = client.create_topic(configs={"segment.bytes": str(SEGMENT_BYTES)})
        for number in range(BATCHES):
            client.appended(topic, batches.values(b"%d" % number + VALUE))
    broker.stop()
    assert forget_pages(broker.data_directory) >= 4
    broker.start()
    forget_pages(broker.data_directory)
    with RawClient(broker.host, broker.port) as client:
        assert read_all(client, topic) == list(range(BATCHES))
        forget_pages(broker.data_directory)
        (record,) = client.fetch_records(topic, 77, max_bytes=1)
        assert record.value == b"77" + VALUE


@pytest.mark.feature("P-03")
def test_a_waiting_fetch_that_read_cold_data_is_woken_by_what_came_meanwhile(broker: PenstockProcess) -> None:
    """With more asked for than there is, a fetch over cold pages waits for the rest and gets all of it."""
    with RawClient(broker.host, broker.port) as reader, RawClient(broker.host, broker.port) as writer:
        topic = reader.create_topic()
        reader.appended(topic, batches.values(VALUE))
        forget_pages(broker.data_directory)
        reader.send("fetch", 12, **reader.fetch_values(topic, 0, max_wait=20_000, min_bytes=150_000, max_bytes=10**6))
        writer.appended(topic, batches.values(VALUE))
        reader.settimeout(10)
        (partition,) = reader.receive("fetch", 12)[1].responses[0].partitions
        assert [batch.base_offset for batch in batches.decode_batches(partition.records)] == [0, 1]
