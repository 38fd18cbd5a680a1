"""The throttle time in the answers of every API and version, as a client reads it."""

import datetime
from typing import Any, cast

import pytest
from kio.schema.errors import ErrorCode

from penstock.broker.handlers.cluster.api_versions import unsupported_version
from penstock.broker.quotas.throttle_field import has_throttle_time, stamped
from penstock.client.entities import build
from penstock.net.reply import SILENCE
from penstock.protocol.kafka import fetch, produce
from penstock.protocol.kafka.apis import API_VERSIONS, APIS, FETCH, PRODUCE
from penstock.protocol.kafka.messages import encode, response_reader, response_schema

pytestmark = pytest.mark.feature("F-01")

THROTTLE_MS = 123_456
VERSIONS = [(api.key, version) for api in APIS.values() for version in range(api.oldest, api.newest + 1)]
ROWS: dict[int, dict[str, Any]] = {
    API_VERSIONS: {
        "api_keys": [{"api_key": key, "min_version": 0, "max_version": 1} for key in range(200)],
        "supported_features": [{"name": "group.version", "min_version": 0, "max_version": 1}],
    }
}


def read(api_key: int, version: int, body: bytes) -> Any:
    entity, size = response_reader(api_key, version)(body, 0)
    assert size == len(body)
    return entity


@pytest.mark.parametrize(("api_key", "version"), VERSIONS)
def test_every_answer_says_how_long(api_key: int, version: int) -> None:
    schema = response_schema(api_key, version)
    values = {"error_code": ErrorCode.none} if "error_code" in schema.__dataclass_fields__ else {}
    body = encode(build(schema, values | ROWS.get(api_key, {})))
    before = read(api_key, version, body)
    after = read(api_key, version, b"".join(cast(list[bytes], stamped(api_key, version, [body], THROTTLE_MS))))
    if has_throttle_time(api_key, version):
        assert after.throttle_time == datetime.timedelta(milliseconds=THROTTLE_MS)
    for name in before.__dataclass_fields__:
        if name != "throttle_time":
            assert getattr(after, name) == getattr(before, name)


@pytest.mark.parametrize("version", range(3, 14))
def test_produce(version: int) -> None:
    topic: str | bytes = bytes(16) if version >= 13 else "t"
    results = [produce.PartitionResult(topic, index, 0, 5, -1, 0) for index in range(3)]
    body = stamped(PRODUCE, version, [produce.encode_response(results, version)], THROTTLE_MS)
    answer = read(PRODUCE, version, b"".join(cast(list[bytes], body)))
    assert answer.throttle_time == datetime.timedelta(milliseconds=THROTTLE_MS)
    assert [row.base_offset for row in answer.responses[0].partition_responses] == [5] * 3


@pytest.mark.parametrize("version", range(4, 19))
def test_fetch(version: int) -> None:
    topic: str | bytes = bytes(16) if version >= 13 else "t"
    rows = [fetch.FetchedPartition(topic, index, 0, 9, 9, 0, [b"records"], 7) for index in range(3)]
    body = stamped(FETCH, version, fetch.encode_response(rows, version, session_id=7), THROTTLE_MS)
    answer = read(FETCH, version, b"".join(cast(list[bytes], body)))
    assert answer.throttle_time == datetime.timedelta(milliseconds=THROTTLE_MS)
    assert [row.records for row in answer.responses[0].partitions] == [b"records"] * 3


def test_what_stays_as_it_is() -> None:
    body = [unsupported_version()]
    assert stamped(API_VERSIONS, 0, body, THROTTLE_MS) is body
    assert stamped(PRODUCE, 9, SILENCE, THROTTLE_MS) is SILENCE
    assert stamped(PRODUCE, 9, body, 0) is body
