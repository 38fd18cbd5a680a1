"""Lengths of arrays in requests: what the bytes cannot hold is refused before anything is set aside for it."""

import json
import struct

import pytest

from penstock.model.limits import REQUEST_ELEMENTS_MAX, REQUEST_NAMES_MAX
from penstock.protocol.kafka.apis import APIS
from penstock.protocol.kafka.messages import decode_request
from penstock.protocol.kafka.primitives import MalformedRequest
from tests.support.wire import API_KEYS, encode_body

METADATA = API_KEYS["metadata"]
DELETE_GROUPS = API_KEYS["delete_groups"]
FIND_COORDINATOR = API_KEYS["find_coordinator"]
NAMES = {key: name for name, key in API_KEYS.items()}


@pytest.mark.feature("F-01", "F-06")
@pytest.mark.parametrize(
    ("version", "body"),
    [
        pytest.param(1, struct.pack(">i", 2**31 - 1), id="the longest array"),
        pytest.param(1, struct.pack(">ih", 3, 0), id="bytes for one element, not for three"),
        pytest.param(12, b"\xff\xff\xff\xff\x0f", id="the longest compact array"),
        pytest.param(12, b"\x04" + bytes(20), id="bytes for one compact element, not for three"),
    ],
)
def test_an_array_longer_than_its_request_is_refused(version: int, body: bytes) -> None:
    """kio would make room for 2^32 elements, and end the process where it cannot."""
    with pytest.raises(MalformedRequest, match="an array longer than the request"):
        decode_request(METADATA, version, body, 0)


def test_null_is_an_array_only_where_the_schema_says_so() -> None:
    assert decode_request(METADATA, 12, b"\x00\x01\x00\x00", 0).topics is None
    with pytest.raises(MalformedRequest, match="null where an array must be"):
        decode_request(FIND_COORDINATOR, 4, b"\x00\x00\x00", 0)


def test_an_inner_array_is_looked_at_too() -> None:
    body = encode_body("offset_fetch", 5, {"group_id": "g", "topics": [{"name": "t", "partition_indexes": [1, 2]}]})
    assert decode_request(API_KEYS["offset_fetch"], 5, body, 0).topics[0].partition_indexes == (1, 2)
    with pytest.raises(MalformedRequest):
        decode_request(API_KEYS["offset_fetch"], 5, body[:-12] + struct.pack(">i", 2**31 - 1) + body[-8:], 0)


def test_more_elements_than_any_request_needs_are_refused() -> None:
    """Of all arrays together, however they are nested."""
    half = struct.pack(f">i{REQUEST_ELEMENTS_MAX // 2}i", REQUEST_ELEMENTS_MAX // 2, *bytes(REQUEST_ELEMENTS_MAX // 2))
    one = struct.pack(">h1s", 1, b"t") + half
    key = API_KEYS["offset_fetch"]
    assert len(decode_request(key, 5, struct.pack(">h1si", 1, b"g", 1) + one, 0).topics) == 1
    with pytest.raises(MalformedRequest, match="more elements in arrays than a request may have"):
        decode_request(key, 5, struct.pack(">h1si", 1, b"g", 2) + one + one, 0)


@pytest.mark.parametrize(
    ("api", "version", "body"),
    [
        pytest.param("init_producer_id", 5, {"transactional_id": "{}", "transaction_timeout": 1}, id="no array"),
        pytest.param("describe_transactions", 0, {"transactional_ids": ["a", "{}"]}, id="in an array"),
        pytest.param("metadata", 9, {"topics": [{"name": "{}"}]}, id="nested"),
        pytest.param("heartbeat", 4, {"group_id": "g", "member_id": "{}"}, id="behind another"),
    ],
)
def test_strings_have_the_length_that_older_versions_can_say(api: str, version: int, body: dict[str, object]) -> None:
    for length, is_read in ((32_767, True), (32_768, False), (40_000, False)):
        text = json.loads(json.dumps(body).replace("{}", "x" * length))
        encoded = encode_body(api, version, text)
        if is_read:
            decode_request(API_KEYS[api], version, encoded, 0)
        else:
            with pytest.raises(MalformedRequest, match=f"a string of {length} bytes"):
                decode_request(API_KEYS[api], version, encoded, 0)


@pytest.mark.parametrize("key", APIS)
def test_what_a_client_writes_is_walked_over_as_kio_reads_it(key: int) -> None:
    api = APIS[key]
    for version in range(api.oldest, api.newest + 1):
        body = encode_body(NAMES[key], version, {})
        decode_request(key, version, b"before" + body, 6)


def test_requests_that_name_no_partitions_have_fewer() -> None:
    for count in (REQUEST_NAMES_MAX, REQUEST_NAMES_MAX + 1):
        body = struct.pack(">i", count) + b"\x00\x01g" * count
        if count <= REQUEST_NAMES_MAX:
            assert len(decode_request(DELETE_GROUPS, 0, body, 0).groups_names) == count
            continue
        with pytest.raises(MalformedRequest, match="more elements in arrays than a request may have"):
            decode_request(DELETE_GROUPS, 0, body, 0)
