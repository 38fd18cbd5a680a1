"""Fetch, ListOffsets and DescribeProducers over transactions that are open, committed and aborted."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.broker.handlers.records import fetch
from penstock.config.settings import StorageSettings
from penstock.net.reply import Reply
from penstock.protocol.kafka.apis import FETCH
from penstock.protocol.kafka.messages import response_reader
from penstock.storage.interface import Log
from penstock.storage.memory.engine import MemoryEngine
from tests.support.admin_broker import AdminBroker
from tests.support.committed_reader import committed_in, end_transaction, put_in_transaction
from tests.support.wire import encode_body
from tests.unit.storage.log_rig import put

pytestmark = pytest.mark.feature("K-07")

READ_UNCOMMITTED, READ_COMMITTED = 0, 1
VERSIONS = (4, 7, 11, 12)


class Node(AdminBroker):
    """A broker with one topic in memory, whose log is flushed when a test says so."""

    def __init__(self) -> None:
        engine = MemoryEngine(StorageSettings())
        super().__init__(logs=engine)
        self.waiting: list[Any] = []
        engine.start(self.partitions.on_flushed, lambda *call: self.waiting.append(call), background=False)
        self.create("t")
        self.log: Log = self.partitions.get("t", 0)._log

    def flush(self) -> None:
        while self.waiting:
            function, *args = self.waiting.pop(0)
            function(*args)

    def fetch(self, isolation: int, offset: int = 0, *, version: int = 12, wait_ms: int = 0, **limits: int) -> Any:
        """The answer for the partition, or a `Reply` that is to come. On the loop."""
        partition = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": 1 << 20}
        if version >= 5:
            partition["log_start_offset"] = -1
        if version >= 9:
            partition["current_leader_epoch"] = -1
        if version >= 12:
            partition["last_fetched_epoch"] = -1
        values: dict[str, Any] = {
            "replica_id": -1,
            "max_wait": wait_ms,
            "min_bytes": limits.get("min_bytes", 1),
            "max_bytes": 1 << 20,
            "isolation_level": isolation,
            "topics": [{"topic": "t", "partitions": [partition]}],
        }
        if version >= 7:
            values |= {"session_id": 0, "session_epoch": -1, "forgotten_topics_data": []}
        if version >= 11:
            values["rack_id"] = ""
        body = encode_body("fetch", version, values)
        found = fetch.handle(self.broker, self.request(FETCH, version, body))
        return decoded(found.body, version) if found.done else found


def decoded(body: Any, version: int = 12) -> Any:
    answer, _ = response_reader(1, version)(b"".join(bytes(part) for part in body), 0)
    return answer.responses[0].partitions[0]


@pytest.fixture
def node() -> Iterator[Node]:
    with Node() as one:
        yield one


def fill(node: Node) -> None:
    """Offsets: 0 aborted, 1 committed, 2 and 3 their markers, 4 plain, 5 open, 6 plain."""
    put_in_transaction(node.log, 1, 0, b"aborted")
    put_in_transaction(node.log, 2, 0, b"committed")
    end_transaction(node.log, 1, commit=False, coordinator_epoch=3)
    end_transaction(node.log, 2, commit=True)
    put(node.log, b"plain")
    put_in_transaction(node.log, 1, 1, b"open")
    put(node.log, b"behind it")
    node.flush()


@pytest.mark.parametrize("version", VERSIONS)
def test_what_each_isolation_level_gets(node: Node, version: int) -> None:
    fill(node)

    async def both() -> list[Any]:
        return [node.fetch(level, version=version) for level in (READ_UNCOMMITTED, READ_COMMITTED)]

    everything, committed = node.run(both())
    for answer in (everything, committed):
        assert (answer.error_code, answer.high_watermark, answer.last_stable_offset) == (0, 7, 5)
    assert everything.aborted_transactions is None
    assert [record.offset for record in committed_in(everything.records, [])] == [0, 1, 4, 5, 6]
    assert [(one.producer_id, one.first_offset) for one in committed.aborted_transactions] == [(1, 0)]
    shown = committed_in(committed.records, list(committed.aborted_transactions))
    assert [(record.offset, record.value) for record in shown] == [(1, b"committed"), (4, b"plain")]


def test_nothing_aborted_is_an_empty_list(node: Node) -> None:
    fill(node)

    async def later() -> list[Any]:
        return [node.fetch(READ_COMMITTED, offset) for offset in (3, 5, 6)]

    behind, at_the_end, above = node.run(later())
    assert behind.aborted_transactions == at_the_end.aborted_transactions == above.aborted_transactions == ()
    assert behind.records
    assert not at_the_end.records
    assert not above.records
    assert above.error_code == 0


@pytest.mark.parametrize("min_bytes", [1, 100])
def test_a_marker_wakes_who_waits_for_committed_records(node: Node, min_bytes: int) -> None:
    """However small it is: what it shows may be much."""
    put_in_transaction(node.log, 1, 0, b"x" * 200)
    node.flush()

    async def wait_for_it() -> tuple[bool, Any]:
        pending = node.fetch(READ_COMMITTED, wait_ms=60_000, min_bytes=min_bytes)
        assert isinstance(pending, Reply)
        put_in_transaction(node.log, 1, 1, b"more")
        node.flush()
        early = pending.done
        end_transaction(node.log, 1, commit=True)
        assert not pending.done
        node.flush()
        return early, decoded(await asyncio.wait_for(pending.wait(), 10))

    early, answer = node.run(wait_for_it())
    assert not early
    assert answer.last_stable_offset == 3
    assert [record.offset for record in committed_in(answer.records, [])] == [0, 1]


def test_list_offsets_by_isolation_level(node: Node) -> None:
    fill(node)
    for level, end in ((READ_UNCOMMITTED, 7), (READ_COMMITTED, 5)):
        partition = {"partition_index": 0, "current_leader_epoch": -1, "timestamp": -1}
        topics = [{"name": "t", "partitions": [partition]}]
        answer = node.call("list_offsets", 7, replica_id=-1, isolation_level=level, topics=topics)
        assert answer.topics[0].partitions[0].offset == end


def test_producers_are_described_with_their_transactions(node: Node) -> None:
    fill(node)
    topics = [{"name": "t", "partition_indexes": [0]}]
    found = node.call("describe_producers", 0, topics=topics).topics[0].partitions[0].active_producers
    rows = {one.producer_id: (one.coordinator_epoch, one.current_txn_start_offset) for one in found}
    assert rows == {1: (3, 5), 2: (0, -1)}
