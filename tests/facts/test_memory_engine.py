"""The same facts with the memory engine: some of each kind, and what happens when its memory is full.

`PENSTOCK_TEST_ENGINE=memory pytest tests/facts` runs all of them so.
"""

import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest
from kio.schema.errors import ErrorCode

from tests.facts.test_fetch import (
    test_a_first_batch_above_the_limits_is_returned,
    test_a_partition_limit_is_obeyed_after_the_first_batch,
    test_a_produce_wakes_the_waiting_fetch,
    test_an_offset_inside_a_batch_returns_the_whole_batch,
    test_offset_below_the_log_start,
    test_reading_on_with_small_limits_reaches_the_end,
)
from tests.facts.test_idempotence import (
    test_a_gap_is_out_of_order,
    test_producer_state_outlives_delete_records,
    test_the_last_five_batches_are_remembered,
)
from tests.facts.test_list_offsets import test_by_time_across_segments, test_by_time_with_log_append_time
from tests.facts.test_retention import (
    compaction,
    test_compaction_keeps_the_last_value_of_each_key,
    test_list_offsets_after_compaction,
    test_no_retention_for_a_compacted_topic,
    test_retention_by_age,
    test_retention_by_size,
)
from tests.facts.test_topics import test_a_topic_made_again_is_empty
from tests.support import batches
from tests.support.fixtures import PENSTOCK_CONFIG, running, target_engine, target_kind
from tests.support.group_client import commit, committed
from tests.support.penstock_process import PenstockProcess
from tests.support.raw_client import RawClient, unique_name
from tests.support.waiting import wait_until

__all__ = [
    "compaction",
    "test_a_first_batch_above_the_limits_is_returned",
    "test_a_gap_is_out_of_order",
    "test_a_partition_limit_is_obeyed_after_the_first_batch",
    "test_a_produce_wakes_the_waiting_fetch",
    "test_a_topic_made_again_is_empty",
    "test_an_offset_inside_a_batch_returns_the_whole_batch",
    "test_by_time_across_segments",
    "test_by_time_with_log_append_time",
    "test_compaction_keeps_the_last_value_of_each_key",
    "test_list_offsets_after_compaction",
    "test_no_retention_for_a_compacted_topic",
    "test_offset_below_the_log_start",
    "test_producer_state_outlives_delete_records",
    "test_reading_on_with_small_limits_reaches_the_end",
    "test_retention_by_age",
    "test_retention_by_size",
    "test_the_last_five_batches_are_remembered",
]

pytestmark = pytest.mark.feature("K-12", "P-01")

FILLER = b"x" * 500_000
OWN_CONFIG = "  engine: memory\n  memory_bytes_max: 24 MiB\n"


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PenstockProcess]:
    """In place of the broker of all the others."""
    if target_kind() != "penstock" or target_engine() == "memory":
        pytest.skip("these are Penstock's, and with PENSTOCK_TEST_ENGINE=memory all facts run on memory anyway")
    process = PenstockProcess(tmp_path_factory.mktemp("memory-broker"), PENSTOCK_CONFIG + OWN_CONFIG)
    for _ in running(process):
        yield process


def readiness(broker: PenstockProcess) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://{broker.host}:{broker.http_port}/health/ready", timeout=10) as answer:
            return int(answer.status), answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def fill(client: RawClient, topic: str) -> int:
    """Write until it is refused; returns how many batches went in."""
    for count in range(100):
        code = client.produce(topic, batches.values(FILLER)).error_code
        if code != ErrorCode.none:
            assert code == ErrorCode.kafka_storage_error
            return count
    raise AssertionError("nothing was refused")


def test_full_memory_refuses_produce_until_there_is_room(broker: PenstockProcess, client: RawClient) -> None:
    """Full: KAFKA_STORAGE_ERROR and not ready; fetch, commits and deletions go on, and the last make room again."""
    topic, other = client.create_topic(), client.create_topic()
    count = fill(client, topic)
    assert client.produce(other, batches.values("small")).error_code == ErrorCode.kafka_storage_error
    status, body = readiness(broker)
    assert (status, "memory_bytes_max" in body) == (503, True)
    assert client.log_end(topic) == count
    assert client.fetch_batches(topic, count - 1)[0].base_offset == count - 1
    group = unique_name("group")
    assert commit(client, group, topic, 7) == ErrorCode.none
    assert committed(client, group, topic).committed_offset == 7

    client.delete_records(topic, count)
    assert client.appended(other, batches.values("small")) == 0
    assert readiness(broker)[0] == 200
    fill(client, topic)
    client.delete_topic(topic)
    wait_until(
        lambda: client.produce(other, batches.values("again")).error_code == ErrorCode.none, what="there is room again"
    )
