"""Leader epochs inside one life of the broker; that they rise at a start is in `test_restart.py`."""

from typing import Any

import pytest
from kio.schema.errors import ErrorCode

from tests.support import batches
from tests.support.raw_client import LATEST, RawClient

pytestmark = pytest.mark.feature("F-01")

NEWER = 999


def end_of_epoch(
    client: RawClient, topic: str, epoch: int, *, current: int = -1, partition: int = 0, version: int = 4
) -> Any:
    wanted = {"partition": partition, "current_leader_epoch": current, "leader_epoch": epoch}
    answer = client.call(
        "offset_for_leader_epoch", version, replica_id=-2, topics=[{"topic": topic, "partitions": [wanted]}]
    )
    return answer.topics[0].partitions[0]


def current_epoch(client: RawClient, topic: str) -> int:
    (found,) = client.metadata(topic).topics
    return int(found.partitions[0].leader_epoch)


def test_the_epoch_is_written_into_batches(client: RawClient, topic: str) -> None:
    """The epoch that Metadata tells is written into every batch, whatever the producer put there."""
    epoch = current_epoch(client, topic)
    client.appended(topic, batches.values("a", leader_epoch=-1))
    client.appended(topic, batches.values("b", leader_epoch=55))
    assert [batch.leader_epoch for batch in client.fetch_batches(topic)] == [epoch, epoch]


@pytest.mark.parametrize("version", [2, 3, 4])
def test_the_current_epoch_ends_at_the_log_end(client: RawClient, topic: str, version: int) -> None:
    """OffsetForLeaderEpoch answers the current epoch with the end of the log."""
    epoch = current_epoch(client, topic)
    client.appended(topic, batches.values("a", "b"))
    answer = end_of_epoch(client, topic, epoch, version=version)
    assert (answer.error_code, answer.leader_epoch, answer.end_offset) == (ErrorCode.none, epoch, 2)


@pytest.mark.parametrize("epoch", [NEWER, -1])
def test_an_unknown_epoch(client: RawClient, topic: str, epoch: int) -> None:
    """An epoch above ours, and −1, give −1 and −1 without an error."""
    client.appended(topic, batches.values("a"))
    answer = end_of_epoch(client, topic, epoch)
    assert (answer.error_code, answer.leader_epoch, answer.end_offset) == (ErrorCode.none, -1, -1)


def test_unknown_partition(client: RawClient, topic: str) -> None:
    """A partition that does not exist is UNKNOWN_TOPIC_OR_PARTITION."""
    answer = end_of_epoch(client, topic, 0, partition=9)
    assert answer.error_code == ErrorCode.unknown_topic_or_partition


def test_a_newer_current_epoch_is_unknown(client: RawClient, topic: str) -> None:
    """A client that knows a newer epoch than we do is told UNKNOWN_LEADER_EPOCH, by all three APIs."""
    client.appended(topic, batches.values("a"))
    assert client.fetch(topic, 0, current_leader_epoch=NEWER).error_code == ErrorCode.unknown_leader_epoch
    listed = client.list_offset(topic, LATEST, current_leader_epoch=NEWER)
    assert listed.error_code == ErrorCode.unknown_leader_epoch
    assert end_of_epoch(client, topic, 0, current=NEWER).error_code == ErrorCode.unknown_leader_epoch


def test_the_right_current_epoch_is_fine(client: RawClient, topic: str) -> None:
    """A client that names the epoch we have is answered as if it had named none."""
    epoch = current_epoch(client, topic)
    client.appended(topic, batches.values("a"))
    assert client.fetch(topic, 0, current_leader_epoch=epoch).error_code == ErrorCode.none
    assert client.list_offset(topic, LATEST, current_leader_epoch=epoch).offset == 1
    assert end_of_epoch(client, topic, epoch, current=epoch).end_offset == 1


def test_last_fetched_epoch_above_ours(client: RawClient, topic: str) -> None:
    """A fetch whose last fetched epoch is above ours is OFFSET_OUT_OF_RANGE."""
    client.appended(topic, batches.values("a"))
    assert client.fetch(topic, 1, last_fetched_epoch=NEWER).error_code == ErrorCode.offset_out_of_range


def test_last_fetched_epoch_that_is_ours(client: RawClient, topic: str) -> None:
    """A last fetched epoch that is ours does not diverge."""
    client.appended(topic, batches.values("a"))
    answer = client.fetch(topic, 0, last_fetched_epoch=current_epoch(client, topic))
    assert answer.error_code == ErrorCode.none
    assert answer.diverging_epoch.end_offset == -1


def test_list_offsets_tells_the_epoch(client: RawClient, topic: str) -> None:
    """ListOffsets from v4 tells the leader epoch of the offset it found."""
    client.appended(topic, batches.values("a"))
    assert client.list_offset(topic, LATEST).leader_epoch == current_epoch(client, topic)
