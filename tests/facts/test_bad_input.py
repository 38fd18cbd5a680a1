"""Input that is wrong: the door answers with an error or closes, keeps nothing, and the others notice nothing."""

import socket
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cramjam
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kio.schema.errors import ErrorCode

from tests.support import batches
from tests.support.batches import Record, decode_records
from tests.support.broker_process import BrokerProcess
from tests.support.group_client import join, sync
from tests.support.raw_client import RawClient, unique_name
from tests.support.waiting import wait_until
from tests.support.wire import API_KEYS, ConnectionClosed, encode_header, encode_request, frame

pytestmark = pytest.mark.feature("F-01", "F-06")

METADATA = API_KEYS["metadata"]
FRAME_BYTES_MAX = 104_857_600
BOMB_BYTES = 600 << 20
MEMORY_FOR_A_BOMB_BYTES = 512 << 20


# ------------------------------------------------------------------------------------------------------- frames


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", id="an HTTP request"),
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", id="a TLS hello"),
        pytest.param(b"\xff" * 64, id="a negative length"),
        pytest.param(struct.pack(">i", -1), id="length -1"),
        pytest.param(struct.pack(">i", 0), id="length 0"),
        pytest.param(struct.pack(">i", 2**31 - 1), id="the largest length"),
        pytest.param(frame(b"\x00\x03"), id="no whole header"),
        pytest.param(frame(b"\xa5" * 100), id="random bytes"),
    ],
)
def test_what_is_no_request_closes_the_connection(client: RawClient, data: bytes) -> None:
    """Bytes that are no Kafka request end the connection, before any memory is set aside for them."""
    client.send_bytes(data)
    assert client.closed_by_peer()


def test_a_length_above_the_limit_closes_the_connection(client: RawClient) -> None:
    """Not as the first thing on a connection: there its bytes could be those of a push client."""
    assert client.call("api_versions", 0).error_code == 0
    client.send_bytes(struct.pack(">i", FRAME_BYTES_MAX + 1))
    assert client.closed_by_peer()


def nonsense_bodies() -> Iterator[object]:
    old, flexible = encode_header(METADATA, 1, 1), encode_header(METADATA, 12, 1, flexible=True)
    whole = encode_request("metadata", 12, 1, {"topics": [{"name": "topic", "topic_id": None}]})
    heartbeat = encode_header(API_KEYS["heartbeat"], 0, 1)
    yield pytest.param(whole[:-2], id="a body cut short")
    yield pytest.param(old + struct.pack(">i", 2**31 - 1), id="an array of two thousand million")
    yield pytest.param(old + struct.pack(">ih", 1, 30_000) + b"abc", id="a string past the end")
    yield pytest.param(old + struct.pack(">ih", 1, -5), id="a string of negative length")
    yield pytest.param(flexible + b"\xff\xff\xff\xff\x07", id="a compact array past the end")
    yield pytest.param(flexible + b"\xfe\xff\xff\xff\x0f", id="the longest compact array")
    yield pytest.param(flexible + b"\xff" * 12, id="a varint without end")
    yield pytest.param(struct.pack(">hhih", METADATA, 12, 1, 500) + b"a", id="a client id past the end")
    yield pytest.param(encode_header(METADATA, 12, 1) + b"\x01\x05\x7f", id="a tagged field past the end")
    yield pytest.param(heartbeat + struct.pack(">h", -1) + bytes(10), id="null where null is not allowed")


@pytest.mark.parametrize("payload", list(nonsense_bodies()))
def test_a_length_that_points_outside_closes_the_connection(client: RawClient, payload: bytes) -> None:
    """A request whose inner lengths do not fit it ends the connection."""
    client.send_bytes(frame(payload))
    assert client.closed_by_peer()


def test_a_frame_that_never_ends_hurts_nobody(client: RawClient, connect: Callable[[], RawClient]) -> None:
    """A client that stops in the middle of a frame keeps only itself waiting."""
    half = connect()
    half.send_bytes(struct.pack(">i", 1000) + b"only a part")
    assert client.metadata().brokers
    assert half.silent(for_s=0.2)
    half.close()
    assert client.metadata().brokers


def test_a_frame_in_many_small_pieces(client: RawClient) -> None:
    """A request may arrive byte by byte, and two requests may arrive together."""
    request = frame(encode_request("metadata", 12, 7, {"topics": []}))
    for position in range(len(request)):
        client.send_bytes(request[position : position + 1])
    assert client.receive("metadata", 12)[0] == 7
    client.send_bytes(request + request)
    assert [client.receive("metadata", 12)[0] for _ in range(2)] == [7, 7]


def test_the_others_are_undisturbed(
    broker: BrokerProcess, client: RawClient, topic: str, connect: Callable[[], RawClient]
) -> None:
    """While many connections send rubbish, a waiting fetch goes on waiting and is served."""
    waiter = connect()
    waiter.send("fetch", 12, **client.fetch_values(topic, 0, max_wait=60_000))
    for number in range(50):
        with RawClient(broker.host, broker.port) as rubbish:
            rubbish.send_bytes(b"rubbish %d " % number * 10)
            assert rubbish.closed_by_peer()
    client.appended(topic, batches.values("still here"))
    waiter.settimeout(5.0)
    (partition,) = waiter.receive("fetch", 12)[1].responses[0].partitions
    assert [record.value for record in decode_records(partition.records)] == [b"still here"]


def open_files(process: BrokerProcess) -> int:
    return len(list(Path(f"/proc/{process.pid}/fd").iterdir()))


def test_nothing_leaks(broker: BrokerProcess, client: RawClient) -> None:
    """After many connections that came, sent rubbish or nothing and went, the broker's open files are as before."""
    if not broker.running:
        pytest.skip("not a process of our own")
    client.metadata()
    before = open_files(broker)
    for number in range(100):
        with socket.create_connection((broker.host, broker.port)) as connection:
            if number % 2:
                connection.sendall(b"\xff" * 10)
    wait_until(lambda: open_files(broker) <= before + 5, what="the connections' files are closed")


# ------------------------------------------------------------------------------------------------ record batches


BROKEN_BATCHES = [
    pytest.param(batches.values("a", crc=0x12345678), {ErrorCode.corrupt_message}, id="a wrong CRC"),
    pytest.param(batches.values("a", magic=3), {ErrorCode.corrupt_message}, id="magic 3"),
    pytest.param(batches.message_set(0), {ErrorCode.invalid_record}, id="magic 0"),
    pytest.param(batches.message_set(1), {ErrorCode.invalid_record}, id="magic 1"),
    pytest.param(batches.values("a", "b", count=1), {ErrorCode.invalid_record}, id="too few counted"),
    pytest.param(batches.values("a", "b", count=3), {ErrorCode.invalid_record}, id="too many counted"),
    pytest.param(batches.values("a", "b", count=0), {ErrorCode.invalid_record}, id="none counted"),
    pytest.param(batches.values("a", count=-1), {ErrorCode.invalid_record}, id="a negative count"),
    pytest.param(
        batches.values("a", count=2**31 - 1, last_offset_delta=2**31 - 2),
        {ErrorCode.invalid_record},
        id="a count that its bytes cannot hold",
    ),
    pytest.param(batches.values("a", "b", last_offset_delta=0), {ErrorCode.invalid_record}, id="a small delta"),
    pytest.param(batches.values("a", "b", last_offset_delta=9), {ErrorCode.invalid_record}, id="a large delta"),
    pytest.param(batches.values("a", last_offset_delta=-1), {ErrorCode.invalid_record}, id="a negative delta"),
    pytest.param(batches.batch([]), {ErrorCode.invalid_record}, id="no records"),
    pytest.param(batches.values("a", length=10), {ErrorCode.corrupt_message}, id="a length below the header's"),
    pytest.param(batches.values("a", length=-5), {ErrorCode.corrupt_message}, id="a negative length"),
    pytest.param(
        batches.values("a", length=2000),
        {ErrorCode.invalid_record, ErrorCode.corrupt_message},
        id="a length past the end",
    ),
    pytest.param(b"\x00" * 10, {ErrorCode.invalid_record, ErrorCode.corrupt_message}, id="ten zeros"),
    pytest.param(b"\x00" * 61, {ErrorCode.invalid_record, ErrorCode.corrupt_message}, id="a header of zeros"),
]


@pytest.mark.parametrize(("records", "codes"), BROKEN_BATCHES)
@pytest.mark.parametrize("version", [3, 9])
def test_broken_batches(client: RawClient, topic: str, records: bytes, codes: set[ErrorCode], version: int) -> None:
    """A batch whose header is wrong is CORRUPT_MESSAGE or INVALID_RECORD, and nothing of it is stored."""
    assert client.produce(topic, records, version=version).error_code in codes
    assert client.log_end(topic) == 0
    assert client.appended(topic, batches.values("a good one")) == 0


@pytest.mark.usefixtures("penstock_only")
def test_null_records(client: RawClient, topic: str) -> None:
    """Null instead of records is an error; Kafka never answers it."""
    assert client.produce(topic, None).error_code == ErrorCode.invalid_record


def test_bytes_behind_the_batch_are_not_stored(client: RawClient, topic: str) -> None:
    """A few bytes behind the batch are refused or dropped, never stored."""
    answer = client.produce(topic, batches.values("good") + b"xyz")
    assert answer.error_code in (ErrorCode.none, ErrorCode.invalid_record)
    client.appended(topic, batches.values("next"))
    found = [record.value for record in client.fetch_records(topic)]
    assert found in ([b"good", b"next"], [b"next"])


@pytest.mark.parametrize("codec", [0, batches.CODEC_GZIP, batches.CODEC_LZ4, batches.CODEC_ZSTD])
def test_records_that_cannot_be_read_on_a_compacted_topic(client: RawClient, codec: int) -> None:
    """Where records are looked at, a body that cannot be decoded is refused."""
    topic = client.create_topic(configs={"cleanup.policy": "compact"})
    answer = client.produce(topic, batches.batch([Record(key=b"k")], body=b"garbage", codec=codec))
    assert answer.error_code != ErrorCode.none
    assert client.log_end(topic) == 0


@pytest.mark.parametrize("beyond", [0, 1])
def test_the_largest_batch(client: RawClient, beyond: int) -> None:
    """A batch of exactly `max.message.bytes` is welcome; one byte more is MESSAGE_TOO_LARGE."""
    limit = 10_000
    topic = client.create_topic(configs={"max.message.bytes": str(limit)})
    overhead = len(batches.values(b"x" * (limit - 100))) - (limit - 100)
    records = batches.values(b"x" * (limit - overhead + beyond))
    assert len(records) == limit + beyond
    expected = ErrorCode.message_too_large if beyond else ErrorCode.none
    assert client.produce(topic, records).error_code == expected


def test_a_batch_above_the_default_limit(client: RawClient, topic: str) -> None:
    """Without a topic config the limit is 1,048,588 bytes, Kafka's default."""
    assert client.produce(topic, batches.values(b"x" * 1_048_000)).error_code == ErrorCode.none
    assert client.produce(topic, batches.values(b"x" * 1_049_000)).error_code == ErrorCode.message_too_large
    assert client.log_end(topic) == 1


def _bomb(codec: int) -> bytes:
    """A right record whose value is nothing but zeros, packed piece by piece."""
    compressor: Any = cramjam.gzip.Compressor(6) if codec == batches.CODEC_GZIP else cramjam.zstd.Compressor()
    attributes, key = b"\x00" + batches.zigzag(0) * 2, batches.zigzag(1) + b"k"
    size = batches.zigzag(BOMB_BYTES)
    length = len(attributes) + len(key) + len(size) + BOMB_BYTES + 1
    compressor.compress(batches.zigzag(length) + attributes + key + size)
    for _ in range(BOMB_BYTES >> 20):
        compressor.compress(bytes(1 << 20))
    compressor.compress(batches.zigzag(0))
    return bytes(compressor.finish())


def _peak_bytes(process: BrokerProcess) -> int:
    for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no VmHWM")


@pytest.mark.usefixtures("penstock_only")
@pytest.mark.parametrize("codec", [batches.CODEC_GZIP, batches.CODEC_ZSTD])
def test_a_decompression_bomb(broker: BrokerProcess, client: RawClient, codec: int) -> None:
    """A small batch that unpacks to 600 MiB is refused where it would be unpacked, without taking the memory."""
    topic = client.create_topic(configs={"cleanup.policy": "compact"})
    bomb = _bomb(codec)
    before = _peak_bytes(broker)
    client.settimeout(60.0)
    answer = client.produce(topic, batches.batch([Record(key=b"k")], body=bomb, codec=codec))
    assert answer.error_code != ErrorCode.none
    assert client.log_end(topic) == 0
    assert _peak_bytes(broker) - before < MEMORY_FOR_A_BOMB_BYTES


# --------------------------------------------------------------------------------------------- odd but well-formed


@pytest.mark.parametrize("timeout", [-1, -(2**31)])
def test_negative_timeouts(client: RawClient, timeout: int) -> None:
    """A negative timeout is out of time at once or ignored, but answered."""
    topic = {
        "name": unique_name(),
        "num_partitions": 1,
        "replication_factor": 1,
        "assignments": [],
        "configs": [],
    }
    answer = client.call("create_topics", 7, topics=[topic], timeout=timeout)
    assert answer.topics[0].error_code in (ErrorCode.none, ErrorCode.request_timed_out)
    existing = client.create_topic()
    client.settimeout(5.0)
    assert client.fetch(existing, 0, max_wait=timeout).error_code == ErrorCode.none
    assert client.fetch(existing, 0, max_wait=60_000, min_bytes=timeout).error_code == ErrorCode.none


@pytest.mark.parametrize("limit", [-1, 0, -(2**31)])
def test_fetch_limits_that_make_no_sense(client: RawClient, topic: str, limit: int) -> None:
    """Limits of nothing or less get an answer, never a hanging or dead connection."""
    client.appended(topic, batches.values("a"))
    client.settimeout(5.0)
    client.fetch(topic, 0, max_bytes=limit)
    client.fetch(topic, 0, partition_max_bytes=limit)
    assert client.log_end(topic) == 1


@pytest.mark.usefixtures("penstock_only")
def test_group_metadata_that_is_no_subscription(client: RawClient) -> None:
    """The metadata of a member is opaque: any bytes will do. Kafka 4.3 leaves some joins unanswered."""
    group = unique_name("group")
    for metadata in (b"", b"as range", b"\xff" * 50):
        answer = join(client, group, version=3, protocols={"range": metadata})
        assert answer.error_code == ErrorCode.none
        synced = sync(client, group, answer.generation_id, answer.member_id, {answer.member_id: b"x"})
        assert synced.error_code == ErrorCode.none
        client.call("leave_group", 0, group_id=group, member_id=answer.member_id)


# --------------------------------------------------------------------------------------------------------- fuzz


WAITS = ("fetch", "join_group")  # a changed byte may make these wait for long
SENTINEL = 0x7EADBEEF


def nearly_right() -> dict[str, bytes]:
    """Right requests of many kinds, as starting points."""
    name = "fuzz-never-created"
    fetch = RawClient.fetch_values(None, name, 0)  # type: ignore[arg-type]
    produce = RawClient.produce_values(None, name, batches.values("a", "b"))  # type: ignore[arg-type]
    listed = [{"name": name, "partitions": [{"partition_index": 0, "timestamp": -1}]}]
    return {
        "produce": encode_request("produce", 9, 1, produce),
        "fetch": encode_request("fetch", 12, 1, fetch),
        "metadata": encode_request("metadata", 12, 1, {"topics": [{"name": name, "topic_id": None}]}),
        "list_offsets": encode_request("list_offsets", 7, 1, {"replica_id": -1, "topics": listed}),
        "find_coordinator": encode_request("find_coordinator", 4, 1, {"coordinator_keys": ["fuzz"]}),
        "offset_fetch": encode_request("offset_fetch", 7, 1, {"group_id": "fuzz", "topics": None}),
        "join_group": encode_request("join_group", 5, 1, {"group_id": "fuzz", "protocol_type": "consumer"}),
        "describe_groups": encode_request("describe_groups", 5, 1, {"groups": ["fuzz"]}),
        "api_versions": encode_request("api_versions", 3, 1, {"client_software_name": "fuzz"}),
    }


def mutated(payload: bytes) -> st.SearchStrategy[bytes]:
    """The payload with a few bytes changed, cut out or put in, behind the API key."""
    places = st.integers(2, len(payload))
    changes = st.lists(st.tuples(places, st.integers(0, 3), st.binary(min_size=1, max_size=4)), min_size=1, max_size=4)

    def apply(steps: list[tuple[int, int, bytes]]) -> bytes:
        result = payload
        for place, removed, added in steps:
            result = result[:place] + added + result[place + removed :]
        return result

    return changes.map(apply)


fuzz_cases = st.sampled_from(sorted(nearly_right().items())).flatmap(
    lambda case: st.tuples(st.just(case[0]), mutated(case[1]))
)


@settings(
    max_examples=300,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    derandomize=True,
)
@given(case=fuzz_cases)
def test_frames_that_are_nearly_right(broker: BrokerProcess, case: tuple[str, bytes]) -> None:
    """A request with some bytes wrong is answered or ends its connection; the broker goes on either way."""
    api, payload = case
    with RawClient(broker.host, broker.port) as victim:
        victim.send_bytes(frame(payload) + frame(encode_request("api_versions", 0, SENTINEL, {})))
        deadline = time.monotonic() + 10.0
        victim.settimeout(1.0 if api in WAITS else 10.0)
        try:
            while struct.unpack_from(">i", victim.receive_frame())[0] != SENTINEL:
                assert time.monotonic() < deadline
        except ConnectionClosed:
            pass
        except TimeoutError:
            assert api in WAITS, "neither answered nor closed"
    with RawClient(broker.host, broker.port) as healthy:
        assert healthy.call("api_versions", 0).error_code == ErrorCode.none


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    derandomize=True,
)
@given(data=st.data())
def test_a_batch_with_one_byte_changed_is_never_stored(
    client: RawClient, fuzzed_topic: str, data: st.DataObject
) -> None:
    """Any change to what the CRC covers is found: the batch is refused, and what is stored stays right."""
    records = batches.batch([Record(key=b"k", value=b"v" * 50), Record(headers=(("h", b"1"),))])
    place = data.draw(st.integers(17, len(records) - 1), label="place")
    flipped = data.draw(st.integers(1, 255), label="flipped")
    wrong = records[:place] + bytes([records[place] ^ flipped]) + records[place + 1 :]
    end = client.log_end(fuzzed_topic)
    assert client.produce(fuzzed_topic, wrong).error_code != ErrorCode.none
    assert client.log_end(fuzzed_topic) == end


@pytest.fixture
def fuzzed_topic(client: RawClient) -> str:
    return client.create_topic()
