"""The consumer framework against a real broker: order, retries, dead letters, batches, stopping."""

import asyncio
import json
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel

from penstock import BrokerClient, ErrorAction, Message, consumer, error_handler, message_handler, retry_policy
from penstock.consumers.definition import define
from penstock.consumers.metrics import ConsumerMetrics
from penstock.consumers.runner import Runner
from tests.push_client.test_broker_client import Inbox
from tests.support.penstock_process import PenstockProcess
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("P-10")


class Price(BaseModel):
    symbol: str
    price: float


class Running:
    """Consumers in a thread with a loop of its own, as the broker hosts them."""

    def __init__(self, node: PenstockProcess, *marked: Any) -> None:
        self.metrics = ConsumerMetrics()
        self._node = node
        self._definitions = [define(one) for one in marked]
        self._stop: Callable[[], None] = lambda: None
        self._started = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))

    def __enter__(self) -> "Running":
        self._thread.start()
        assert self._started.wait(15)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        self._stop()
        self._thread.join(30)
        assert not self._thread.is_alive()

    async def _run(self) -> None:
        asked = asyncio.Event()
        loop = asyncio.get_running_loop()

        def stop() -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(asked.set)

        self._stop = stop
        runner = Runner(self._definitions, host=self._node.host, port=self._node.port, metrics=self.metrics)
        await runner.start()
        self._started.set()
        await asked.wait()
        await runner.stop()

    def figures(self) -> dict[str, float]:
        return {
            sample.name.removeprefix("penstock_handler_"): sample.value
            for family in self.metrics.families()
            for sample in family.samples
            if "le" not in sample.labels
        }


def dead_letters(client: BrokerClient, topic: str) -> Inbox:
    inbox = Inbox()
    wait_until(lambda: _exists(client, topic), what=f"topic {topic}")
    client.subscribe(topic, inbox)
    return inbox


def _exists(client: BrokerClient, topic: str) -> bool:
    try:
        return client.partition_count(topic) > 0
    except Exception:
        return False


def test_typed_payloads_reach_sync_and_async_handlers(node: PenstockProcess, client: BrokerClient, name: str) -> None:
    client.create_topic(name, partitions=2)
    prices: list[Price] = []
    texts: list[tuple[str, int]] = []

    @consumer(topic=name, group="sync-" + name)
    class Prices:
        @message_handler
        def handle(self, price: Price) -> None:
            assert threading.current_thread().name.startswith("handler-")
            prices.append(price)

    @consumer(topic=name, group="async-" + name)
    async def as_text(body: str, message: Message) -> None:
        texts.append((body, message.sequence_number))

    with Running(node, Prices, as_text) as running:
        for number in range(20):
            client.publish(name, Price(symbol="AAPL", price=number).model_dump_json(), key=str(number % 5))
        wait_until(lambda: len(prices) == len(texts) == 20, what="all messages at both")
        wait_until(lambda: running.figures()["messages_total"] == 20, what="the figures")
    assert sorted(price.price for price in prices) == list(range(20))


def test_retries_keep_the_order_of_a_partition_and_do_not_hold_up_others(
    node: PenstockProcess, client: BrokerClient, name: str
) -> None:
    client.create_topic(name, partitions=2)
    calls: list[tuple[int, str, float]] = []

    @retry_policy(attempts=3, initial=0.3, factor=2)
    @consumer(topic=name, group="of-" + name)
    def handle(message: Message) -> None:
        calls.append((message.partition, message.text, time.monotonic()))
        failures = sum(1 for _, text, _ in calls if text == message.text)
        if message.text == "a1" and failures < 3:
            raise RuntimeError("not yet")

    for text in ("a0", "a1", "a2", "a3"):
        client.publish(name, text, partition=0)
    for text in ("b0", "b1"):
        client.publish(name, text, partition=1)
    with Running(node, handle) as running:
        wait_until(lambda: "a3" in [text for _, text, _ in calls], what="the last message")
        wait_until(lambda: running.figures()["messages_total"] == 6, what="the figures")
        figures = running.figures()
    assert [text for partition, text, _ in calls if partition == 0] == ["a0", "a1", "a1", "a1", "a2", "a3"]
    times = [at for _, text, at in calls if text == "a1"]
    assert times[1] - times[0] >= 0.29
    assert times[2] - times[1] >= 0.59
    order = [text for _, text, _ in calls]
    assert order.index("b1") < order.index("a2"), "the other partition waited"
    assert (figures["calls_total"], figures["failures_total"], figures["retries_total"]) == (8, 2, 2)
    assert figures["seconds_count"] == 8


def test_dead_letters_have_the_message_and_the_reason(node: PenstockProcess, client: BrokerClient, name: str) -> None:
    client.create_topic(name)
    done: list[str] = []
    told: list[tuple[str, str]] = []

    @consumer(topic=name, group="g-" + name)
    @retry_policy(attempts=2, initial=0.01)
    class Fails:
        @message_handler
        def handle(self, body: str) -> None:
            if body == "bad":
                raise ValueError("cannot be done: ü")
            done.append(body)

        @error_handler
        def failed(self, message: Message, error: Exception) -> None:
            told.append((str(message.body), type(error).__name__))

    with Running(node, Fails) as running:
        published = client.publish(name, b"bad", key="k", properties={"source": "test"})
        client.publish(name, b"\xff not text")
        client.publish(name, b"good")
        wait_until(lambda: done == ["good"], what="the message behind the bad ones")
        letters = dead_letters(client, f"{name}.g-{name}.dead")
        letters.wait_for(2)
        assert running.figures()["dead_letters_total"] == 2
    bad, undecodable = sorted(letters, key=lambda letter: int(letter.properties["dead-letter-offset"] or 0))
    assert (bad.body, bad.key) == (b"bad", b"k")
    assert bad.properties == {
        "source": "test",
        "dead-letter-topic": name,
        "dead-letter-partition": "0",
        "dead-letter-offset": "0",
        "dead-letter-timestamp": str(published.timestamp),
        "dead-letter-subscription": f"g-{name}",
        "dead-letter-deliveries": "1",
        "dead-letter-attempts": "2",
        "dead-letter-consumer": define(Fails).name,
        "dead-letter-error": "ValueError",
        "dead-letter-reason": "cannot be done: ü",
    }
    assert undecodable.properties["dead-letter-attempts"] == "1"
    assert (undecodable.properties["dead-letter-reason"] or "").startswith("the body is not UTF-8")
    assert told == [("b'bad'", "ValueError"), ("b'\\xff not text'", "PayloadError")]


def test_an_error_handler_can_skip_and_ask_for_more(node: PenstockProcess, client: BrokerClient, name: str) -> None:
    client.create_topic(name)
    calls: list[str] = []

    @consumer(topic=name, group="of-" + name)
    @retry_policy(attempts=1, initial=0.01)
    class Decides:
        @message_handler
        async def handle(self, body: str) -> None:
            calls.append(body)
            if body == "skip" or (body == "later" and calls.count("later") < 3):
                raise RuntimeError(body)

        @error_handler
        async def decide(self, message: Message) -> ErrorAction:
            return ErrorAction.SKIP if message.text == "skip" else ErrorAction.RETRY

    with Running(node, Decides) as running:
        for text in ("skip", "later", "end"):
            client.publish_text(name, text)
        wait_until(lambda: calls and calls[-1] == "end", what="the last message")
        assert running.figures()["skipped_total"] == 1
        assert running.figures()["dead_letters_total"] == 0
    assert calls == ["skip", "later", "later", "later", "end"]


def test_batches_are_of_one_partition_and_one_bad_message_does_not_take_the_others_with_it(
    node: PenstockProcess, client: BrokerClient, name: str
) -> None:
    client.create_topic(name, partitions=2)
    batches: list[list[dict[str, int]]] = []

    @consumer(topic=name, group="of-" + name)
    @retry_policy(attempts=2, initial=0.01)
    class Batches:
        @message_handler(batch=10)
        def handle(self, rows: list[dict[str, int]], messages: list[Message]) -> None:
            assert len({message.partition for message in messages}) == 1
            assert len(rows) <= 10
            if any(row["n"] == 13 for row in rows):
                raise RuntimeError("unlucky")
            batches.append(rows)

    for number in range(40):
        client.publish(name, json.dumps({"n": number}), partition=number % 2)
    with Running(node, Batches):
        wait_until(lambda: sum(map(len, batches)) == 39, what="all but one")
        letters = dead_letters(client, f"{name}.of-{name}.dead")
        letters.wait_for(1)
    assert max(map(len, batches)) > 1
    for half in (0, 1):
        numbers = [row["n"] for rows in batches for row in rows if row["n"] % 2 == half]
        assert numbers == [number for number in range(half, 40, 2) if number != 13]
    assert letters[0].body == b'{"n": 13}'


def test_a_stop_finishes_what_is_in_hand_and_leaves_the_rest(
    node: PenstockProcess, client: BrokerClient, name: str
) -> None:
    client.create_topic(name)
    for number in range(5):
        client.publish_text(name, str(number))
    begun, may_end = threading.Event(), threading.Event()
    done: list[str] = []

    @consumer(topic=name, group="of-" + name)
    def slow(body: str) -> None:
        begun.set()
        may_end.wait(15)
        done.append(body)

    running = Running(node, slow)
    with running:
        assert begun.wait(15)
        stopping = threading.Thread(target=running.stop)
        stopping.start()
        may_end.set()
        stopping.join(30)
    assert done[0] == "0"
    rest = Inbox()
    client.subscribe_to_subscription("of-" + name, rest)
    rest.wait_for(5 - len(done))
    assert sorted([*done, *rest.texts]) == list("01234"), "every message is done by one of them"


def test_a_stop_does_not_wait_for_the_next_attempt(node: PenstockProcess, client: BrokerClient, name: str) -> None:
    client.create_topic(name)
    client.publish_text(name, "bad")
    called = threading.Event()

    @consumer(topic=name, group="of-" + name)
    @retry_policy(attempts=5, initial=100, max=100)
    def fails(body: str) -> None:
        called.set()
        raise RuntimeError("not now")

    with Running(node, fails):
        assert called.wait(15)
    inbox = Inbox()
    client.subscribe_to_subscription("of-" + name, inbox)
    inbox.wait_for(1)
    assert inbox.texts == ["bad"]


def test_a_handler_that_wants_to_exit_ends_the_run_and_its_message_is_left(
    node: PenstockProcess, client: BrokerClient, name: str
) -> None:
    client.create_topic(name)
    client.publish_text(name, "exit")

    @consumer(topic=name, group="of-" + name)
    def leaves(body: str) -> None:
        raise SystemExit(3)

    async def scenario() -> str:
        runner = Runner([define(leaves)], host=node.host, port=node.port, metrics=ConsumerMetrics())
        await runner.start()
        try:
            async with asyncio.timeout(15):
                return str(await runner.wait())
        finally:
            await runner.stop()

    assert "SystemExit" in asyncio.run(scenario())
    inbox = Inbox()
    client.subscribe_to_subscription("of-" + name, inbox)
    inbox.wait_for(1)


def test_a_handler_that_never_returns_does_not_keep_a_stop_waiting(
    node: PenstockProcess, client: BrokerClient, name: str
) -> None:
    client.create_topic(name)
    client.publish_text(name, "forever")
    called, never = threading.Event(), threading.Event()

    @consumer(topic=name, group="of-" + name)
    def hangs(body: str) -> None:
        called.set()
        never.wait(60)

    async def scenario() -> float:
        metrics = ConsumerMetrics()
        runner = Runner([define(hangs)], host=node.host, port=node.port, metrics=metrics, stop_timeout_s=0.3)
        await runner.start()
        assert await asyncio.to_thread(called.wait, 15)
        started = time.monotonic()
        await runner.stop()
        return time.monotonic() - started

    assert asyncio.run(scenario()) < 10
    never.set()
