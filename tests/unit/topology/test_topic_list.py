"""A parent's list of topics: what is taken, and that nothing else is."""

import json
import uuid
from typing import Any

import pytest

from penstock.topology.pipe import topic_list
from penstock.topology.pipe.topic_list import BadTopicList, decode_topic_list

ID = uuid.UUID(int=7)
TOPIC: dict[str, Any] = {"name": "prices", "id": str(ID), "configs": {"a": "b"}, "partitions": [{"logEnd": 5}, {}]}


def listed(**changes: Any) -> bytes:
    return json.dumps({"version": 3, "topics": [TOPIC | changes], "node": "root-1"}).encode()


def test_a_list_with_fields_of_a_later_version() -> None:
    told = decode_topic_list(listed(mirror=True, later={"x": 1}))
    (topic,) = told.topics
    assert (told.version, topic.name, topic.topic_id, topic.partition_count) == (3, "prices", ID, 2)
    assert (topic.configs, topic.ends) == ({"a": "b"}, [5, -1])


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b"\xff\xfe",
        b'{"version": 1, "topics": {}}',
        b'{"version": 1, "topics": [1]}',
        b'{"version": "1", "topics": []}',
        b'{"version": 1e300, "topics": []}',
        b'{"version": 92233720368547758070, "topics": []}',
        b'{"version": ' + b"9" * 10_000 + b', "topics": []}',
        b'{"version": 1, "topics": ' + b"[" * 100_000,
        listed(name="../../etc"),
        listed(name="a" * 250),
        listed(name=5),
        listed(name=""),
        listed(id="no"),
        listed(id=7),
        listed(configs=[]),
        listed(configs={"a": 1}),
        listed(configs=None),
        listed(partitions={}),
        listed(partitions=[]),
        listed(partitions=[5]),
        listed(partitions=[{"logEnd": "5"}]),
        listed(partitions=[{"logEnd": 1 << 70}]),
        listed(partitions=[{"logEnd": -7}]),
    ],
)
def test_anything_else_is_refused(body: bytes) -> None:
    with pytest.raises(BadTopicList):
        decode_topic_list(body)


def test_the_number_of_values_is_bounded_before_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_list, "SEPARATORS_MAX", 1_000)
    with pytest.raises(BadTopicList, match="more than 1000 values"):
        decode_topic_list(b"[" + b",".join([b"{}"] * 1_002) + b"]")
