"""Requests about very many partitions of one topic: no step of theirs grows with their number.

The lines of Python that run between two turns are counted, and not their time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from types import FrameType
from typing import Any

import pytest

from penstock.broker.handlers.records.produce import _Produce
from penstock.model.errors import ErrorCode
from penstock.protocol.kafka.apis import APIS
from penstock.protocol.kafka.messages import request_reader
from penstock.protocol.kafka.produce import PartitionData, ProduceRequest
from tests.support.admin_broker import AdminBroker
from tests.support.wire import API_KEYS, encode_body

pytestmark = pytest.mark.feature("F-01")

PARTITIONS = 10_000
LINES_MAX = 5_000
"""The longest step has a few hundred partitions."""


def of_topic(rows: str, row: Callable[[int], Any], topic: str = "name", topics: str = "topics") -> dict[str, Any]:
    return {topics: [{topic: "t", rows: [row(number) for number in range(PARTITIONS)]}]}


def by_index(number: int) -> dict[str, Any]:
    return {"partition_index": number + 1}  # the topic has only 0, so there is nothing to wait for


OF_GROUP = {"group_id": "g", "member_id": "", "generation_id_or_member_epoch": -1, "transactional_id": "x"}
REQUESTS: dict[str, tuple[int, dict[str, Any]]] = {
    "list_offsets": (5, of_topic("partitions", lambda number: {"partition_index": number, "timestamp": -1})),
    "offset_for_leader_epoch": (3, of_topic("partitions", lambda number: {"partition": number}, topic="topic")),
    "offset_commit": (7, OF_GROUP | of_topic("partitions", by_index)),
    "txn_offset_commit": (2, OF_GROUP | of_topic("partitions", by_index)),
    "offset_fetch": (7, OF_GROUP | {"require_stable": True} | of_topic("partition_indexes", int)),
    "elect_leaders": (1, of_topic("partitions", int, "topic", "topic_partitions") | {"timeout": 9}),
}
CASES = [(api, *REQUESTS[api]) for api in REQUESTS]
CASES += [("offset_fetch", 8, {"groups": [REQUESTS["offset_fetch"][1]], "require_stable": True})]


@pytest.fixture
def node() -> Iterator[AdminBroker]:
    with AdminBroker() as node:
        node.create("t")
        node.run(node.broker.groups.start())
        node.run(node.broker.groups.loaded())
        yield node


@pytest.mark.parametrize(("api", "version", "body"), CASES, ids=[f"{api}-v{version}" for api, version, _ in CASES])
def test_no_step_is_as_wide_as_its_request(
    node: AdminBroker, monkeypatch: pytest.MonkeyPatch, api: str, version: int, body: dict[str, Any]
) -> None:
    monkeypatch.setattr("penstock.runtime.turns.TURN_NS", 10_000)  # a turn is a step or two
    key = API_KEYS[api]
    request = node.request(key, version, encode_body(api, version, body))
    request.body, _ = request_reader(key, version)(bytes(request.frame), 0)
    work = import_module(f"penstock.broker.handlers.{APIS[key].handler}").handle(node.broker, request)
    assert 0 < longest_step(work) < LINES_MAX


def test_very_many_batches_that_are_refused_have_one_error_for_each_reason(node: AdminBroker) -> None:
    """They are what Python's search for garbage has to go over."""
    batches = [PartitionData("t", number, None) for number in range(PARTITIONS)]
    body = ProduceRequest(None, -1, 1_000, batches)
    produce = _Produce(node.broker, node.request(API_KEYS["produce"], 8, b""), body)
    for each in batches:
        produce.admit(each, None)
    errors = {id(part.error): part.error for part in produce._parts}
    codes = {error.code for error in errors.values() if error is not None}
    assert codes == {ErrorCode.INVALID_RECORD, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert len(errors) == len(codes)


def longest_step(work: Any) -> int:
    """The lines of the longest step of a generator, or of a coroutine that waits for nothing but its next turn."""
    lines = longest = 0

    def count(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        return count

    traced_before = sys.gettrace()
    sys.settrace(count)
    try:
        while True:
            lines = 0
            work.send(None)
            longest = max(longest, lines)
    except StopIteration:
        return max(longest, lines)
    finally:
        sys.settrace(traced_before)
