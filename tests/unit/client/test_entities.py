"""Requests from plain values: fields of other versions are left out, names that no version has are refused."""

from __future__ import annotations

import datetime
from typing import Any
from uuid import UUID

import pytest

from penstock.client.calls import Calls
from penstock.client.entities import build
from penstock.protocol.kafka.apis import API_VERSIONS, FETCH, METADATA
from penstock.protocol.kafka.messages import request_schema


@pytest.mark.parametrize("version", [0, 12])
def test_a_name_that_no_version_has_is_refused(version: int) -> None:
    with pytest.raises(TypeError, match="no version of MetadataRequest has a field topicz"):
        build(request_schema(METADATA, version), {"topics": [], "topicz": []})


@pytest.mark.parametrize("version", [0, 12])
def test_a_name_that_no_version_has_is_refused_in_a_nested_entity(version: int) -> None:
    with pytest.raises(TypeError, match="no version of MetadataRequestTopic has a field nam;"):
        build(request_schema(METADATA, version), {"topics": [{"name": "a", "nam": "b"}]})


def test_a_field_of_other_versions_is_left_out() -> None:
    topic = {"name": "a", "topic_id": UUID(int=1)}
    oldest = build(request_schema(METADATA, 0), {"topics": [topic], "allow_auto_topic_creation": True})
    assert not hasattr(oldest, "allow_auto_topic_creation")
    assert not hasattr(oldest.topics[0], "topic_id")
    newest = build(request_schema(METADATA, 12), {"topics": [topic], "allow_auto_topic_creation": True})
    assert newest.allow_auto_topic_creation
    assert newest.topics[0].topic_id == UUID(int=1)


def test_missing_values_are_defaults_and_durations_are_milliseconds() -> None:
    request = build(request_schema(FETCH, 11), {"max_wait": 250})
    assert request.max_wait == datetime.timedelta(milliseconds=250)
    assert (request.session_id, request.session_epoch, request.topics, request.rack_id) == (0, -1, (), "")


def test_a_call_with_a_misspelt_value_sends_nothing() -> None:
    class Unused(Calls):
        def exchange(self, api_key: int, version: int, body: bytes, *, flexible: bool) -> memoryview:
            raise AssertionError("sent")

    misspelt: dict[str, Any] = {"client_software": "a"}
    with pytest.raises(TypeError, match="no version of ApiVersionsRequest has a field client_software;"):
        Unused().call(API_VERSIONS, 3, **misspelt)
