"""Produce on a disk that hangs: answered when its timeout is over, both ways, and nothing is left behind."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from penstock.broker.produce.repeat_path import PATHS_MAX
from penstock.broker.produce.timeouts import LEAST_MS, ProduceTimeouts
from penstock.config.settings import StorageSettings
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.errors import ErrorCode
from penstock.net.reply import Reply
from penstock.protocol.kafka.apis import PRODUCE
from penstock.protocol.kafka.messages import response_reader
from penstock.storage.memory.engine import MemoryEngine
from penstock.testing.clock import ManualClock
from tests.support.admin_broker import AdminBroker
from tests.support.wire import encode_body

TIMEOUT_MS = 5_000
VERSION = 9


class Node(AdminBroker):
    """A broker with topics in memory, whose logs are flushed when a test says so."""

    def __init__(self) -> None:
        engine = MemoryEngine(StorageSettings())
        super().__init__(logs=engine)
        self.waiting: list[Any] = []
        engine.start(self.partitions.on_flushed, lambda *call: self.waiting.append(call), background=False)
        self.time = ManualClock()
        self.broker.produce_timeouts = self.timeouts = ProduceTimeouts(self.time)
        self.create("t", 2)
        self.create("wide", 2 * PATHS_MAX)

    def flush(self) -> None:
        while self.waiting:
            function, *args = self.waiting.pop(0)
            function(*args)

    def produce(self, value: bytes, partitions: int = 1, **more: Any) -> Reply:
        return self.produce_to("t", range(partitions), value, **more)

    def produce_to(
        self,
        topic: str,
        partitions: Iterable[int],
        value: bytes,
        *,
        timeout_ms: int = TIMEOUT_MS,
        acks: int = -1,
        client_id: bytes = b"c",
    ) -> Reply:
        records = bytes(build_batch([NewRecord(None, value)], timestamp=1))
        data = [{"index": index, "records": records} for index in partitions]
        topics = [{"name": topic, "partition_data": data}]
        values = {"transactional_id": None, "acks": acks, "timeout": timeout_ms, "topic_data": topics}
        header = struct.pack(">hhih", PRODUCE, VERSION, 7, len(client_id)) + client_id + b"\0"
        frame = memoryview(bytearray(header + encode_body("produce", VERSION, values)))

        async def serve() -> Reply:
            return self.channel.serve(frame)

        return self.run(serve())

    def after(self, milliseconds: int) -> None:
        self.time.advance(milliseconds)
        self.run(self.timeouts.sweep())


@pytest.fixture
def node() -> Iterator[Node]:
    with Node() as made:
        yield made


def codes(reply: Reply) -> list[int]:
    assert reply.done
    body = b"".join(bytes(part) for part in reply.body or ())  # type: ignore[arg-type]
    answer, _ = response_reader(PRODUCE, VERSION)(body, 0)
    return [item.error_code.value for topic in answer.responses for item in topic.partition_responses]


@pytest.mark.parametrize("repeated", [False, True], ids=["long way", "repeat path"])
@pytest.mark.parametrize("acks", [1, -1])
def test_a_disk_that_hangs_is_not_waited_for_longer_than_the_client_said(node: Node, repeated: bool, acks: int) -> None:
    if repeated:
        node.produce(b"a", acks=acks)
        node.produce(b"a", acks=acks)
        node.flush()
        assert node.channel.repeat_paths is not None
    reply = node.produce(b"b", acks=acks)
    node.after(TIMEOUT_MS - 1)
    assert not reply.done
    node.after(1)
    assert codes(reply) == [ErrorCode.REQUEST_TIMED_OUT]
    node.flush()  # the disk comes back: stored, as in Kafka, and no client is answered twice
    assert node.partitions.get("t", 0).high_watermark == 1 + 2 * repeated
    assert len(node.timeouts) == 0


@pytest.mark.parametrize("repeated", [False, True], ids=["long way", "repeat path"])
def test_an_acknowledged_request_is_forgotten(node: Node, repeated: bool) -> None:
    if repeated:
        node.produce(b"a")
        node.produce(b"a")
        node.flush()
    reply = node.produce(b"b")
    assert len(node.timeouts) == 1
    node.flush()
    assert codes(reply) == [ErrorCode.NONE]
    assert len(node.timeouts) == 0
    node.after(10 * TIMEOUT_MS)


def test_partitions_that_are_stored_are_acknowledged(node: Node) -> None:
    reply = node.produce(b"a", partitions=2)
    partition = node.partitions.get("t", 0)
    partition.high_watermark = 1
    partition._visible_waits.release(1)
    node.after(TIMEOUT_MS)
    assert codes(reply) == [ErrorCode.NONE, ErrorCode.REQUEST_TIMED_OUT]
    node.flush()


def test_a_client_that_allows_no_time_waits_for_an_ordinary_sync(node: Node) -> None:
    reply = node.produce(b"a", timeout_ms=0)
    node.after(LEAST_MS - 1)
    assert not reply.done
    node.flush()
    assert codes(reply) == [ErrorCode.NONE]
    late = node.produce(b"b", timeout_ms=-5)
    node.after(LEAST_MS)
    assert codes(late) == [ErrorCode.REQUEST_TIMED_OUT]
    node.flush()


def test_requests_wait_at_the_same_time(node: Node) -> None:
    first = node.produce(b"a")
    node.after(1_000)
    second = node.produce(b"b")
    node.after(TIMEOUT_MS - 1_000)
    assert (codes(first), second.done) == ([ErrorCode.REQUEST_TIMED_OUT], False)
    node.flush()
    assert codes(second) == [ErrorCode.NONE]
