"""ListOffsets: the special timestamps at each version, and look-up by time inside and across segments."""

import pytest
from kio.schema.errors import ErrorCode

from tests.support import batches
from tests.support.batches import Record, now_ms
from tests.support.raw_client import EARLIEST, EARLIEST_LOCAL, LATEST, MAX_TIMESTAMP, RawClient

pytestmark = pytest.mark.feature("F-01")

LATEST_TIERED, EARLIEST_PENDING_UPLOAD = -5, -6
VERSIONS = range(1, 12)
NOTHING = (ErrorCode.none, -1, -1)


@pytest.fixture
def topic(client: RawClient) -> str:
    """A topic that keeps records however old: these tests write times long past."""
    return client.create_topic(configs={"retention.ms": "-1"})


def look_up(client: RawClient, topic: str, timestamp: int, version: int = 7) -> tuple[ErrorCode, int, int]:
    answer = client.list_offset(topic, timestamp, version=version)
    return ErrorCode(answer.error_code), int(answer.offset), int(answer.timestamp)


@pytest.mark.parametrize("version", VERSIONS)
def test_earliest_and_latest(client: RawClient, topic: str, version: int) -> None:
    """−2 gives the log start and −1 the end, both without a timestamp, at every version."""
    client.appended(topic, batches.values("a", "b", "c"))
    client.delete_records(topic, 1)
    assert look_up(client, topic, EARLIEST, version) == (ErrorCode.none, 1, -1)
    assert look_up(client, topic, LATEST, version) == (ErrorCode.none, 3, -1)


@pytest.mark.parametrize("version", VERSIONS)
def test_max_timestamp(client: RawClient, topic: str, version: int) -> None:
    """−3 gives the record with the largest timestamp from v7; below it is UNSUPPORTED_VERSION."""
    client.appended(topic, batches.batch([Record(timestamp_ms=time) for time in (1_000, 3_000, 2_000)]))
    client.appended(topic, batches.batch([Record(timestamp_ms=500)]))
    expected = (ErrorCode.none, 1, 3_000) if version >= 7 else (ErrorCode.unsupported_version, -1, -1)
    assert look_up(client, topic, MAX_TIMESTAMP, version) == expected


@pytest.mark.parametrize("version", VERSIONS)
def test_earliest_local(client: RawClient, topic: str, version: int) -> None:
    """−4 gives the log start from v8, since all data is local; below it is UNSUPPORTED_VERSION."""
    client.appended(topic, batches.values("a", "b"))
    client.delete_records(topic, 1)
    expected = (ErrorCode.none, 1, -1) if version >= 8 else (ErrorCode.unsupported_version, -1, -1)
    assert look_up(client, topic, EARLIEST_LOCAL, version) == expected


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("timestamp", "since"), [(LATEST_TIERED, 9), (EARLIEST_PENDING_UPLOAD, 11)])
def test_tiered_storage(client: RawClient, topic: str, timestamp: int, since: int, version: int) -> None:
    """−5 (from v9) and −6 (from v11) ask about tiered storage: −1 without an error, where there is none."""
    client.appended(topic, batches.values("a"))
    expected = NOTHING if version >= since else (ErrorCode.unsupported_version, -1, -1)
    assert look_up(client, topic, timestamp, version) == expected


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("timestamp", [-7, -100, -(2**63)])
def test_other_negative_timestamps(client: RawClient, topic: str, timestamp: int, version: int) -> None:
    """A negative timestamp without a meaning is UNSUPPORTED_VERSION."""
    assert look_up(client, topic, timestamp, version)[0] == ErrorCode.unsupported_version


@pytest.mark.parametrize("timestamp", [0, 1_000, 10**15, MAX_TIMESTAMP])
def test_an_empty_partition(client: RawClient, topic: str, timestamp: int) -> None:
    """In an empty partition every time and the largest timestamp give −1 and −1."""
    assert look_up(client, topic, timestamp) == NOTHING


def test_an_empty_partition_starts_and_ends_at_0(client: RawClient, topic: str) -> None:
    """Earliest and latest of an empty partition are 0."""
    assert (client.log_start(topic), client.log_end(topic)) == (0, 0)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_time_past_the_end(client: RawClient, topic: str, version: int) -> None:
    """A time later than every record gives −1 and −1."""
    client.appended(topic, batches.batch([Record(timestamp_ms=1_000)]))
    assert look_up(client, topic, 1_001, version) == NOTHING


@pytest.mark.parametrize("codec", range(5))
@pytest.mark.parametrize(
    ("wanted", "offset", "found"),
    [
        (0, 0, 1_000),
        (1_000, 0, 1_000),
        (1_001, 1, 3_000),
        (2_500, 1, 3_000),
        (3_001, 3, 4_000),
        (4_500, 4, 5_000),
    ],
)
def test_by_time_gives_the_record_itself(
    client: RawClient, topic: str, codec: int, wanted: int, offset: int, found: int
) -> None:
    """By time gives offset and timestamp of the first record at or after it, also inside a (packed) batch."""
    for times in ((1_000, 3_000, 2_000), (4_000, 5_000)):
        client.appended(topic, batches.batch([Record(timestamp_ms=time) for time in times], codec=codec))
    assert look_up(client, topic, wanted) == (ErrorCode.none, offset, found)


def test_by_time_with_log_append_time(client: RawClient) -> None:
    """With LogAppendTime all records of a batch have its time, so the batch's first offset is found."""
    topic = client.create_topic(configs={"message.timestamp.type": "LogAppendTime"})
    client.appended(topic, batches.values("a", "b"))
    (first,) = client.fetch_batches(topic)
    assert look_up(client, topic, first.max_timestamp_ms) == (ErrorCode.none, 0, first.max_timestamp_ms)


def test_by_time_never_goes_below_the_log_start(client: RawClient, topic: str) -> None:
    """Records that DeleteRecords removed are not found by time, though their batch may still be on disk."""
    client.appended(topic, batches.batch([Record(timestamp_ms=time) for time in (1_000, 2_000, 3_000)]))
    client.delete_records(topic, 2)
    assert look_up(client, topic, 0) == (ErrorCode.none, 2, 3_000)
    client.delete_records(topic, 3)
    assert look_up(client, topic, 0) == NOTHING


def test_by_time_across_segments(client: RawClient) -> None:
    """Look-up by time and the largest timestamp are right over many segments."""
    topic = client.create_topic(configs={"segment.bytes": str(1 << 20), "retention.ms": "-1"})
    filler = b"x" * 250_000
    times = [10_000 + 1_000 * number for number in range(20)]
    times[11] = 1_000_000  # one that ran ahead: every later segment's first record is older
    for time in times:
        client.appended(topic, batches.batch([Record(value=filler, timestamp_ms=time)]))
    for number, time in enumerate(times[:11]):
        assert look_up(client, topic, time) == (ErrorCode.none, number, time)
        assert look_up(client, topic, time - 999) == (ErrorCode.none, number, time)
    assert look_up(client, topic, 28_500) == (ErrorCode.none, 11, 1_000_000)
    assert look_up(client, topic, MAX_TIMESTAMP) == (ErrorCode.none, 11, 1_000_000)
    assert look_up(client, topic, 1_000_001) == NOTHING


def test_several_partitions_at_once(client: RawClient) -> None:
    """One request may ask for many partitions with different times; each has its own answer or error."""
    topic = client.create_topic(partitions=3)
    client.appended(topic, batches.values("a"), partition=1)
    wanted = [
        {"partition_index": index, "current_leader_epoch": -1, "timestamp": time}
        for index, time in ((0, LATEST), (1, LATEST), (2, EARLIEST), (8, LATEST))
    ]
    answer = client.call("list_offsets", 7, replica_id=-1, topics=[{"name": topic, "partitions": wanted}])
    found = {each.partition_index: (each.error_code, each.offset) for each in answer.topics[0].partitions}
    assert found == {
        0: (ErrorCode.none, 0),
        1: (ErrorCode.none, 1),
        2: (ErrorCode.none, 0),
        8: (ErrorCode.unknown_topic_or_partition, -1),
    }


def test_unknown_topic(client: RawClient) -> None:
    """A topic that does not exist is UNKNOWN_TOPIC_OR_PARTITION."""
    assert look_up(client, "never-created", LATEST)[0] == ErrorCode.unknown_topic_or_partition


@pytest.mark.parametrize("isolation_level", [0, 1])
def test_isolation_levels_agree_without_transactions(client: RawClient, topic: str, isolation_level: int) -> None:
    """Without open transactions the last stable offset is the high watermark."""
    client.appended(topic, batches.values("a", "b"))
    wanted = [{"partition_index": 0, "current_leader_epoch": -1, "timestamp": LATEST}]
    answer = client.call(
        "list_offsets",
        5,
        replica_id=-1,
        isolation_level=isolation_level,
        topics=[{"name": topic, "partitions": wanted}],
    )
    assert answer.topics[0].partitions[0].offset == 2


def test_a_time_in_the_future(client: RawClient, topic: str) -> None:
    """Nothing is found at a time that has not come yet."""
    client.appended(topic, batches.values("now"))
    assert look_up(client, topic, now_ms() + 86_400_000) == NOTHING
