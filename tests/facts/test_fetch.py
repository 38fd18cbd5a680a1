"""Fetch: what is returned, in which portions, when, and with which errors."""

import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from kio.schema.errors import ErrorCode

from tests.support import batches
from tests.support.batches import decode_batches, decode_records
from tests.support.raw_client import RawClient

pytestmark = pytest.mark.feature("F-01")

# Far above what an answer takes, far below the waits that the tests ask for.
AT_ONCE_S = 5.0
LONG_WAIT_MS = 60_000


def fetch_by_id(client: RawClient, topic_id: uuid.UUID, offset: int, *, version: int = 13, **options: Any) -> Any:
    values = client.fetch_values("", offset, **options)
    values["topics"][0]["topic_id"] = topic_id
    return client.call("fetch", version, **values)


def three_batches(client: RawClient, topic: str) -> None:
    """Offsets 0–2, 3–5 and 6–8."""
    for first in (0, 3, 6):
        client.appended(topic, batches.values(*(f"value {first + index}" for index in range(3))))


# ---------------------------------------------------------------------------------------------- what is returned


@pytest.mark.parametrize("version", range(4, 19))
def test_every_version_returns_the_same(client: RawClient, topic: str, version: int) -> None:
    """Every version of Fetch, by name or (from v13) by id, returns the same batches and watermarks."""
    three_batches(client, topic)
    if version >= 13:
        answer = fetch_by_id(client, client.topic_id(topic), 0, version=version)
        assert answer.responses[0].topic_id == client.topic_id(topic)
    else:
        answer = client.call("fetch", version, **client.fetch_values(topic, 0))
        assert answer.responses[0].topic == topic
    (partition,) = answer.responses[0].partitions
    assert (partition.partition_index, partition.error_code) == (0, ErrorCode.none)
    assert (partition.high_watermark, partition.last_stable_offset) == (9, 9)
    if version >= 5:
        assert partition.log_start_offset == 0
    if version >= 11:
        assert partition.preferred_read_replica == -1
    assert [record.offset for record in decode_records(partition.records)] == list(range(9))


@pytest.mark.parametrize("version", [4, 11, 12])
def test_aborted_transactions_are_null_or_empty(client: RawClient, topic: str, version: int) -> None:
    """AbortedTransactions is null for read_uncommitted and an empty list for read_committed."""
    client.appended(topic, batches.values("a"))
    assert client.fetch(topic, 0, version=version, isolation_level=0).aborted_transactions is None
    assert client.fetch(topic, 0, version=version, isolation_level=1).aborted_transactions == ()


@pytest.mark.parametrize("version", [4, 11, 12])
def test_nothing_to_read_is_zero_bytes_not_null(client: RawClient, topic: str, version: int) -> None:
    """At the end of the log the records are zero bytes, never null, without an error."""
    client.appended(topic, batches.values("a"))
    answer = client.fetch(topic, 1, version=version)
    assert (answer.error_code, answer.records, answer.high_watermark) == (ErrorCode.none, b"", 1)


@pytest.mark.parametrize(("offset", "first"), [(3, 3), (4, 3), (5, 3), (6, 6), (8, 6)])
def test_an_offset_inside_a_batch_returns_the_whole_batch(
    client: RawClient, topic: str, offset: int, first: int
) -> None:
    """Batches are not split: a fetch from the middle of one starts with that whole batch."""
    three_batches(client, topic)
    found = client.fetch_batches(topic, offset)
    assert found[0].base_offset == first
    assert found[-1].last_offset == 8


@pytest.mark.parametrize("version", [4, 12])
def test_a_first_batch_above_the_limits_is_returned(client: RawClient, topic: str, version: int) -> None:
    """A first batch larger than both limits is returned whole all the same, so that a reader gets on."""
    client.appended(topic, batches.values(b"x" * 100_000))
    client.appended(topic, batches.values(b"y" * 100_000))
    answer = client.fetch(topic, 0, version=version, max_bytes=1, partition_max_bytes=1)
    found = decode_batches(answer.records)
    assert [batch.base_offset for batch in found] == [0]
    assert found[0].crc_is_right


def test_only_the_first_partition_may_exceed_the_limits(client: RawClient) -> None:
    """Once one partition has used up the limit, the others of the request get nothing, and no error."""
    topic = client.create_topic(partitions=2)
    for partition in range(2):
        client.appended(topic, batches.values(b"x" * 50_000), partition=partition)
    values = client.fetch_values(topic, 0, max_bytes=1000)
    values["topics"][0]["partitions"].append({**values["topics"][0]["partitions"][0], "partition": 1})
    answer = client.call("fetch", 12, **values)
    first, second = answer.responses[0].partitions
    assert len(decode_batches(first.records)) == 1
    assert (second.error_code, second.records, second.high_watermark) == (ErrorCode.none, b"", 1)


def test_a_partition_limit_is_obeyed_after_the_first_batch(client: RawClient, topic: str) -> None:
    """Beyond the first batch an answer keeps to its limit; a cut-off batch at its end is allowed."""
    for _ in range(10):
        client.appended(topic, batches.values(b"x" * 10_000))
    answer = client.fetch(topic, 0, partition_max_bytes=35_000)
    assert len(answer.records) <= 35_000
    found = decode_batches(answer.records)
    assert [batch.base_offset for batch in found] == [0, 1, 2]


def test_reading_on_with_small_limits_reaches_the_end(client: RawClient, topic: str) -> None:
    """A reader with a small limit that goes on after each last whole batch sees everything once, in order."""
    for number in range(20):
        client.appended(topic, batches.values(f"{number}" * 400, f"{number}" * 400))
    seen: list[int] = []
    while len(seen) < 40:
        portion = client.fetch_records(topic, len(seen), partition_max_bytes=3_000)
        assert portion, "a fetch below the end returned no whole batch"
        seen += [record.offset for record in portion if record.offset >= len(seen)]
    assert seen == list(range(40))


# ------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize("offset", [-1, -2, 4, 10**12])
def test_offset_out_of_range(client: RawClient, topic: str, offset: int) -> None:
    """An offset before the start or after the end is OFFSET_OUT_OF_RANGE; there is no magic offset."""
    client.appended(topic, batches.values("a", "b", "c"))
    assert client.fetch(topic, offset).error_code == ErrorCode.offset_out_of_range


def test_offset_below_the_log_start(client: RawClient, topic: str) -> None:
    """After DeleteRecords an offset below the new start is out of range, the start itself is not."""
    three_batches(client, topic)
    assert client.delete_records(topic, 4).low_watermark == 4
    assert client.fetch(topic, 3).error_code == ErrorCode.offset_out_of_range
    answer = client.fetch(topic, 4)
    assert (answer.error_code, answer.log_start_offset) == (ErrorCode.none, 4)
    assert decode_batches(answer.records)[0].base_offset == 3


def test_unknown_topic_or_partition(client: RawClient, topic: str) -> None:
    """Names and partitions that do not exist are UNKNOWN_TOPIC_OR_PARTITION, and fetching creates nothing."""
    assert client.fetch(topic, 0, partition=7).error_code == ErrorCode.unknown_topic_or_partition
    assert client.fetch("never-created", 0).error_code == ErrorCode.unknown_topic_or_partition
    (found,) = client.metadata("never-created").topics
    assert found.error_code == ErrorCode.unknown_topic_or_partition


@pytest.mark.parametrize("version", [13, 17, 18])
def test_unknown_topic_id(client: RawClient, version: int) -> None:
    """A topic id that is not known is UNKNOWN_TOPIC_ID in its partition, not for the whole answer."""
    unknown = uuid.UUID(int=0xABCDEF)
    answer = fetch_by_id(client, unknown, 0, version=version)
    assert answer.error_code == ErrorCode.none
    assert answer.responses[0].topic_id == unknown
    assert answer.responses[0].partitions[0].error_code == ErrorCode.unknown_topic_id


def test_a_recreated_topic_tells_old_readers(client: RawClient, topic: str) -> None:
    """A reader that holds the id of a deleted topic is told UNKNOWN_TOPIC_ID after it was made again."""
    client.appended(topic, batches.values("old"))
    old_id = client.topic_id(topic)
    client.delete_topic(topic)
    client.create_topic(topic)
    answer = fetch_by_id(client, old_id, 0)
    assert answer.responses[0].partitions[0].error_code == ErrorCode.unknown_topic_id
    assert client.fetch(topic, 0).records == b""


def test_an_error_in_any_partition_answers_at_once(client: RawClient) -> None:
    """A fetch that would wait is answered at once when one of its partitions has an error."""
    topic = client.create_topic(partitions=2)
    values = client.fetch_values(topic, 0, max_wait=LONG_WAIT_MS)
    bad = {**values["topics"][0]["partitions"][0], "partition": 1, "fetch_offset": 99}
    values["topics"][0]["partitions"].append(bad)
    client.settimeout(AT_ONCE_S)
    answer = client.call("fetch", 12, **values)
    codes = {each.partition_index: each.error_code for each in answer.responses[0].partitions}
    assert codes == {0: ErrorCode.none, 1: ErrorCode.offset_out_of_range}


def test_fetch_by_a_replica_that_is_none(client: RawClient, topic: str) -> None:
    """A fetch in the name of a replica that does not exist is refused: clients are replica −1."""
    answer = client.call("fetch", 12, **{**client.fetch_values(topic, 0), "replica_id": 77})
    assert answer.responses[0].partitions[0].error_code == ErrorCode.not_leader_or_follower


# ------------------------------------------------------------------------------------------------------ waiting


def test_an_empty_fetch_waits_for_max_wait(client: RawClient, topic: str) -> None:
    """With nothing to read and `min_bytes` 1, the answer comes when `max_wait` is over."""
    started = time.monotonic()
    assert client.fetch(topic, 0, max_wait=400, min_bytes=1).records == b""
    assert time.monotonic() - started >= 0.38


def test_max_wait_0_and_min_bytes_0_answer_at_once(client: RawClient, topic: str) -> None:
    """Without a wait, or with nothing required, an empty answer comes at once."""
    client.settimeout(AT_ONCE_S)
    assert client.fetch(topic, 0, max_wait=0, min_bytes=1_000_000).records == b""
    assert client.fetch(topic, 0, max_wait=LONG_WAIT_MS, min_bytes=0).records == b""


@pytest.mark.parametrize("acks", [-1, 1, 0])
def test_a_produce_wakes_the_waiting_fetch(
    client: RawClient, topic: str, connect: Callable[[], RawClient], acks: int
) -> None:
    """A fetch that waits is answered as soon as there is something to read, long before `max_wait`."""
    waiter = connect()
    waiter.settimeout(AT_ONCE_S)
    waiter.send("fetch", 12, **client.fetch_values(topic, 0, max_wait=LONG_WAIT_MS))
    client.send("produce", 9, **client.produce_values(topic, batches.values("wake"), acks=acks))
    _, answer = waiter.receive("fetch", 12)
    (partition,) = answer.responses[0].partitions
    assert [record.value for record in decode_records(partition.records)] == [b"wake"]
    assert partition.high_watermark == 1


def test_min_bytes_waits_for_enough(client: RawClient, topic: str, connect: Callable[[], RawClient]) -> None:
    """A fetch waits until `min_bytes` have come together, over several produces."""
    waiter = connect()
    waiter.send("fetch", 12, **client.fetch_values(topic, 0, max_wait=LONG_WAIT_MS, min_bytes=5_000))
    for _ in range(3):
        client.appended(topic, batches.values(b"x" * 1_000))
    assert waiter.silent(for_s=0.3)
    client.appended(topic, batches.values(b"x" * 3_000))
    waiter.settimeout(AT_ONCE_S)
    _, answer = waiter.receive("fetch", 12)
    assert len(decode_batches(answer.responses[0].partitions[0].records)) == 4


def test_deleting_the_topic_ends_the_wait(client: RawClient, topic: str, connect: Callable[[], RawClient]) -> None:
    """A fetch that waits on a topic that is deleted is answered with an error, not left hanging."""
    waiter = connect()
    waiter.send("fetch", 12, **client.fetch_values(topic, 0, max_wait=LONG_WAIT_MS))
    assert waiter.silent(for_s=0.2)
    client.delete_topic(topic)
    waiter.settimeout(AT_ONCE_S)
    _, answer = waiter.receive("fetch", 12)
    assert answer.responses[0].partitions[0].error_code in (
        ErrorCode.unknown_topic_or_partition,
        ErrorCode.not_leader_or_follower,
        ErrorCode.unknown_topic_id,
    )


def test_many_waiters_are_all_woken(client: RawClient, topic: str, connect: Callable[[], RawClient]) -> None:
    """Every connection that waits at the end of a partition gets what is produced next."""
    waiters = [connect() for _ in range(20)]
    for waiter in waiters:
        waiter.settimeout(AT_ONCE_S)
        waiter.send("fetch", 12, **client.fetch_values(topic, 0, max_wait=LONG_WAIT_MS))
    client.appended(topic, batches.values("for all"))
    for waiter in waiters:
        _, answer = waiter.receive("fetch", 12)
        assert len(decode_records(answer.responses[0].partitions[0].records)) == 1


# ------------------------------------------------------------------------------------------- order of answers


def test_answers_leave_in_request_order(client: RawClient, topic: str, connect: Callable[[], RawClient]) -> None:
    """Answers leave in the order of their requests, even when a later one was ready long before."""
    pipeline = connect()
    sent = [
        pipeline.send("fetch", 12, **client.fetch_values(topic, 0, max_wait=600)),
        pipeline.send("api_versions", 0),
        pipeline.send("metadata", 12, topics=[]),
    ]
    received = [pipeline.receive(api, version)[0] for api, version in _names("fetch", "api_versions", "metadata")]
    assert received == sent


def _names(*apis: str) -> list[tuple[str, int]]:
    return [(api, {"fetch": 12, "api_versions": 0, "metadata": 12, "produce": 9}[api]) for api in apis]


def test_pipelined_produces_are_stored_in_order(client: RawClient, topic: str) -> None:
    """Produce requests sent without waiting are stored and answered in the order they were sent."""
    count = 50
    for number in range(count):
        client.send("produce", 9, **client.produce_values(topic, batches.values(f"{number}")))
    offsets = [client.receive("produce", 9)[1].responses[0].partition_responses[0].base_offset for _ in range(count)]
    assert offsets == list(range(count))
    assert [record.value for record in client.fetch_records(topic)] == [b"%d" % n for n in range(count)]


def test_pipelined_fetch_sees_the_produce_before_it(client: RawClient, topic: str) -> None:
    """A fetch sent right behind a produce on the same connection sees what it stored."""
    client.send("produce", 9, **client.produce_values(topic, batches.values("first")))
    client.send("fetch", 12, **client.fetch_values(topic, 0, max_wait=LONG_WAIT_MS))
    client.settimeout(AT_ONCE_S)
    assert client.receive("produce", 9)[1].responses[0].partition_responses[0].base_offset == 0
    (partition,) = client.receive("fetch", 12)[1].responses[0].partitions
    assert [record.value for record in decode_records(partition.records)] == [b"first"]


def test_two_producers_at_once_never_share_an_offset(
    client: RawClient, topic: str, connect: Callable[[], RawClient]
) -> None:
    """Offsets given to connections that produce at the same time are all different and without holes."""
    given: list[int] = []

    def produce_many(producer: RawClient) -> None:
        for _ in range(50):
            given.append(producer.appended(topic, batches.values("a", "b")))

    threads = [threading.Thread(target=produce_many, args=(connect(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(given) == list(range(0, 400, 2))
    assert client.log_end(topic) == 400
