"""Tagged fields from the future are taken out, and everything else stays as it was."""

import datetime
import uuid
from typing import Any

import kio.index
import pytest
from kio.static.constants import EntityType

from penstock.protocol.kafka.apis import APIS
from penstock.protocol.kafka.messages import encode, request_reader
from penstock.protocol.kafka.primitives import MalformedRequest
from penstock.protocol.kafka.unknown_tags import without_unknown_tags

UNKNOWN = b"\x01\xe7\x07\x03abc"  # one field: tag 999, three bytes


def metadata_request() -> Any:
    module: Any = kio.index.load_payload_module(3, 12, EntityType.request)
    topic = module.MetadataRequestTopic(topic_id=uuid.uuid4(), name="prices")
    return module.MetadataRequest(
        topics=(topic,), allow_auto_topic_creation=True, include_topic_authorized_operations=False
    )


def join_request() -> Any:
    module: Any = kio.index.load_payload_module(11, 9, EntityType.request)
    return module.JoinGroupRequest(
        group_id="g",
        session_timeout=datetime.timedelta(seconds=10),
        rebalance_timeout=datetime.timedelta(seconds=20),
        member_id="",
        group_instance_id=None,
        protocol_type="consumer",
        protocols=(module.JoinGroupRequestProtocol(name="range", metadata=b"\0\1\2"),),
        reason=None,
    )


@pytest.mark.feature("F-01")
@pytest.mark.parametrize("request_", [metadata_request(), join_request()], ids=["metadata", "join"])
def test_unknown_fields_at_the_end_and_inside_are_dropped(request_: Any) -> None:
    body = encode(request_)
    entity_type = type(request_)
    assert without_unknown_tags(entity_type, body, 0) == body
    assert body.endswith(b"\0")
    grown = body[:-1] + UNKNOWN
    assert without_unknown_tags(entity_type, b"head" + grown, 4) == body


def test_unknown_fields_of_an_element_are_dropped() -> None:
    request = metadata_request()
    body = encode(request)
    end_of_name = body.index(b"prices") + len(b"prices")
    grown = body[:end_of_name] + UNKNOWN + body[end_of_name + 1 :]
    assert without_unknown_tags(type(request), grown, 0) == body


def test_a_message_that_ends_too_early_is_malformed() -> None:
    request = metadata_request()
    with pytest.raises(MalformedRequest):
        without_unknown_tags(type(request), encode(request)[:-3], 0)


@pytest.mark.parametrize("api", [api for api in APIS.values() if api.newest >= api.flexible], ids=lambda api: api.name)
def test_the_layout_of_every_flexible_request_is_understood(api: Any) -> None:
    entity_type = kio.index.load_request_schema(api.key, api.newest)
    with pytest.raises(MalformedRequest):
        without_unknown_tags(entity_type, b"", 0)
    assert request_reader(api.key, api.newest)
