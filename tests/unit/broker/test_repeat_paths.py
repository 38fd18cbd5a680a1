"""The short ways of a connection: one for each partition that it writes to in turn, and never many."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from penstock.broker.produce.repeat_path import BEGINNING_BYTES_MAX, PATHS_MAX, UNHELPED_MAX
from penstock.model.errors import ErrorCode
from penstock.net.reply import Reply
from penstock.protocol.kafka.apis import PRODUCE
from penstock.protocol.kafka.messages import response_reader
from tests.unit.broker.handlers.test_produce_timeouts import VERSION, Node

OTHERS = PATHS_MAX + 1


@pytest.fixture
def node() -> Iterator[Node]:
    with Node() as made:
        yield made


def paths(node: Node) -> int:
    return len(node.channel.repeat_paths or ())


def result(reply: Reply) -> tuple[str, int, int, int]:
    assert reply.done
    body = b"".join(bytes(part) for part in reply.body or ())  # type: ignore[arg-type]
    (topic,) = response_reader(PRODUCE, VERSION)(body, 0)[0].responses
    (part,) = topic.partition_responses
    return topic.name, part.index, part.error_code.value, part.base_offset


def appended(node: Node, topic: str, partition: int, value: bytes = b"v") -> tuple[str, int, int, int]:
    reply = node.produce_to(topic, [partition], value)
    node.flush()
    return result(reply)


def test_partitions_in_turn_have_one_each(node: Node) -> None:
    places = [("t", 0), ("wide", 5), ("t", 1), ("wide", 0)]
    for turn in range(4):
        for topic, partition in places:
            assert appended(node, topic, partition) == (topic, partition, ErrorCode.NONE, turn)
        assert paths(node) == (len(places) if turn else 0)


def test_a_deleted_topic_takes_its_own_with_it(node: Node) -> None:
    places = [("t", 0), ("wide", 0), ("t", 1)]
    for _ in range(3):
        for topic, partition in places:
            appended(node, topic, partition)
    (gone,) = node.call("delete_topics", 5, topic_names=["t"], timeout=1_000).responses
    assert gone.error_code.value == ErrorCode.NONE
    assert appended(node, "t", 0)[2] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert appended(node, "wide", 0) == ("wide", 0, ErrorCode.NONE, 3)
    assert paths(node) == 2  # of the partition that was asked for, none is left


def test_more_partitions_than_paths_take_the_long_way(node: Node) -> None:
    for turn in range(4):
        for partition in range(PATHS_MAX + 1):
            assert appended(node, "wide", partition)[3] == turn
        assert paths(node) == 0


def test_requests_that_are_never_alike_fill_no_memory(node: Node) -> None:
    for timeout_ms in range(2 * PATHS_MAX):
        node.produce_to("t", [0], b"v", timeout_ms=2_000 + timeout_ms)
        assert paths(node) <= PATHS_MAX
    assert paths(node) == PATHS_MAX
    for name in (b"n" * BEGINNING_BYTES_MAX, b"short"):
        for _ in range(3):
            node.produce_to("t", [1], b"v", client_id=name)
        assert paths(node) == (name == b"short")  # of a long beginning, nothing is kept


def test_a_client_that_goes_elsewhere_gets_new_ones(node: Node) -> None:
    for _ in range(2):
        for partition in range(PATHS_MAX):
            appended(node, "wide", partition)
    assert paths(node) == PATHS_MAX
    for _ in range(UNHELPED_MAX + 2):
        appended(node, "wide", OTHERS)
    assert paths(node) == 1
