"""The behaviour of every pipe connector, against one parent."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

import pytest

from penstock.config.settings import PipeSettings
from penstock.node.pipe import CONNECTORS
from penstock.runtime.plugins import load_implementation
from penstock.topology.pipe.follower import checked_batches
from penstock.topology.pipe.interface import Connect, ParentTopic, ParentTopics, ParentUnavailable, PipeConnector
from penstock.topology.pipe.wire import LastBatch, PullAnswer, PullRequest, Status, Wanted
from tests.support import batches
from tests.support.hierarchy import HierarchyNode
from tests.support.raw_client import RawClient

pytestmark = pytest.mark.feature("P-01", "P-12")

T = TypeVar("T")
SETTINGS = PipeSettings(wait_ms=2_000, timeout_ms=2_000)


@pytest.fixture(scope="module")
def parent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HierarchyNode]:
    node = HierarchyNode(tmp_path_factory.mktemp("parent"), None, config="pipe:\n  wait_ms: 2000\n").begin()
    yield node
    node.stop()


class Child:
    """Asks with a connector, from the list of topics on."""

    def __init__(self, connect: Connect, url: str) -> None:
        self._connect = connect
        self._url = url

    def ask(self, ask: Callable[[PipeConnector, ParentTopics], Awaitable[T]]) -> T:
        async def run() -> T:
            connector = self._connect(self._url, SETTINGS)
            try:
                return await ask(connector, await connector.topics())
            finally:
                await connector.close()

        return asyncio.run(run())

    def topic(self, name: str) -> ParentTopic:
        async def find(_: PipeConnector, listed: ParentTopics) -> ParentTopic:
            (found,) = [each for each in listed.topics if each.name == name]
            return found

        return self.ask(find)

    def pull(self, wanted: Wanted, *, wait_ms: int = 0, batches_max: int = 100, bytes_max: int = 1 << 20) -> PullAnswer:
        async def pull(connector: PipeConnector, listed: ParentTopics) -> PullAnswer:
            return await connector.pull(PullRequest(listed.version, wait_ms, bytes_max, batches_max, [wanted]))

        return self.ask(pull)


@pytest.fixture(params=["http", "kafka", "plain"])
def child(request: pytest.FixtureRequest, parent: HierarchyNode) -> Child:
    connect: Connect = load_implementation("penstock.pipe", request.param, CONNECTORS, "pipe.type")
    return Child(connect, parent.bootstrap if request.param == "kafka" else parent.url)


@pytest.fixture
def client(parent: HierarchyNode) -> Iterator[RawClient]:
    with RawClient(parent.host, parent.port) as client:
        yield client


def wanted(child: Child, topic: str, offset: int, **more: object) -> Wanted:
    return Wanted(child.topic(topic).topic_id.bytes, 0, offset, 0, **more)  # type: ignore[arg-type]


def offsets(answer: PullAnswer, offset: int = 0) -> list[int]:
    return [header.base_offset for each in answer.partitions for _, header in checked_batches(each.records, offset)]


def test_topics_with_ids_partitions_and_configs(child: Child, client: RawClient) -> None:
    name = client.create_topic(partitions=3, configs={"retention.ms": "123456789"})
    found = child.topic(name)
    assert (found.topic_id, found.partition_count) == (client.topic_id(name), 3)
    assert found.configs == {"retention.ms": "123456789"}


def test_whole_batches_from_an_offset_on_within_limits(child: Child, client: RawClient) -> None:
    name = client.create_topic()
    for number in range(6):
        client.appended(name, batches.values(b"%d" % number * 100))
    answer = child.pull(wanted(child, name, 2), wait_ms=1_000)
    assert offsets(answer, 2) == [2, 3, 4, 5]
    assert (answer.partitions[0].log_start, answer.partitions[0].high_watermark) == (0, 6)
    assert offsets(child.pull(wanted(child, name, 0), batches_max=2)) == [0, 1]
    assert offsets(child.pull(wanted(child, name, 3), bytes_max=1), 3) == [3]


def test_a_question_waits_for_data_and_no_longer(child: Child, client: RawClient) -> None:
    name = client.create_topic()
    asked = wanted(child, name, 0)

    async def pull(connector: PipeConnector, listed: ParentTopics) -> tuple[PullAnswer, float]:
        request = PullRequest(listed.version, 20_000, 1 << 20, 100, [asked])
        pulling = asyncio.ensure_future(connector.pull(request))
        await asyncio.wait([pulling], timeout=0.3)
        assert not pulling.done()
        await asyncio.to_thread(client.appended, name, batches.values(b"now"))
        started = time.monotonic()
        return await pulling, time.monotonic() - started

    answer, seconds = child.ask(pull)
    assert offsets(answer) == [0]
    assert seconds < 10
    started = time.monotonic()
    assert not child.pull(asked._replace(offset=1), wait_ms=300).partitions
    assert time.monotonic() - started >= 0.25


def test_what_is_below_the_log_start(child: Child, client: RawClient) -> None:
    name = client.create_topic()
    for number in range(4):
        client.appended(name, batches.values(b"%d" % number))
    client.delete_records(name, 3)
    (answer,) = child.pull(wanted(child, name, 1)).partitions
    assert (answer.status, answer.log_start) == (Status.BELOW_START, 3)


def test_the_log_start_in_the_middle_of_a_batch(child: Child, client: RawClient) -> None:
    name = client.create_topic()
    client.appended(name, batches.values(b"a", b"b"))
    client.appended(name, batches.values(b"c", b"d"))
    client.delete_records(name, 3)
    (answer,) = child.pull(wanted(child, name, 0)).partitions
    assert (answer.status, answer.log_start) == (Status.BELOW_START, 2)
    (answer,) = child.pull(wanted(child, name, 2)).partitions
    assert (answer.status, answer.log_start) == (Status.OK, 3)
    assert [header.base_offset for _, header in checked_batches(answer.records, 2)] == [2]


def test_histories_are_compared(child: Child, client: RawClient) -> None:
    name = client.create_topic()
    client.appended(name, batches.values(b"a"))
    client.appended(name, batches.values(b"b"))
    (stored,) = [batch for batch in client.fetch_batches(name, 1) if batch.base_offset == 1]
    same = LastBatch(1, stored.crc, 1)
    (answer,) = child.pull(wanted(child, name, 2, epoch=0, last=same), wait_ms=2_000).partitions
    assert (answer.status, answer.high_watermark) == (Status.OK, 2)
    for other in (
        wanted(child, name, 2, epoch=0, last=LastBatch(1, stored.crc ^ 1, 1)),
        wanted(child, name, 9),
        wanted(child, name, 2, epoch=7),
    ):
        (answer,) = child.pull(other).partitions
        assert answer.status is Status.DIVERGED
        assert answer.reason


def test_another_topic_of_the_same_name_is_unknown(child: Child, client: RawClient) -> None:
    name = client.create_topic()
    asked = wanted(child, name, 0)
    client.delete_topic(name)
    client.create_topic(name)
    client.appended(name, batches.values(b"not this"))
    (answer,) = child.pull(asked).partitions
    assert answer.status is Status.UNKNOWN


def test_a_change_of_topics_is_told(child: Child, client: RawClient) -> None:
    async def pull(connector: PipeConnector, listed: ParentTopics) -> int:
        answer = await connector.pull(PullRequest(listed.version - 1, 2_000, 1 << 20, 100, []))
        assert answer.topics_version == listed.version
        return answer.topics_version

    first = child.ask(pull)
    client.create_topic()
    assert child.ask(pull) != first


def test_nobody_is_there(child: Child, parent: HierarchyNode) -> None:
    other = Child(child._connect, "http://127.0.0.1:1" if "http" in child._url else "127.0.0.1:1")
    with pytest.raises(ParentUnavailable):
        other.topic("any")
