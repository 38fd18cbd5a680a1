"""kill -9 on either side: nothing acknowledged is lost, nothing is published twice, order is kept."""

import asyncio
import contextlib
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from penstock import AsyncBrokerClient, BrokerClient
from penstock.client.push.errors import NotConnected, RequestTimeout
from tests.push_client.conftest import CONFIG
from tests.push_client.test_broker_client import Inbox
from tests.support.penstock_process import PenstockProcess
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.feature("Q-01", "P-10"), pytest.mark.crash]


@pytest.fixture
def mortal(tmp_path: Path) -> Iterator[PenstockProcess]:
    process = PenstockProcess(tmp_path / "mortal", CONFIG)
    process.prepare()
    process.start()
    yield process
    process.kill9()


def everything(broker: PenstockProcess, topic: str, count: int) -> list[str]:
    """The messages of a new subscription, with a check that there are no more."""
    inbox = Inbox()
    with BrokerClient(broker.host, broker.port) as client:
        client.subscribe(topic, inbox)
        inbox.wait_for(count)
        marker = client.publish(topic, "end", partition=0).offset
        wait_until(lambda: any(m.partition == 0 and m.sequence_number == marker for m in inbox), what="the end")
    return [message.text for message in inbox if message.text != "end"]


def _reached(count: Callable[[], int], goal: int) -> bool:
    return count() >= goal


def publish_through_kills(broker: PenstockProcess, kills: int, messages: int) -> None:
    """A client publishes on while its broker dies; every message is there once, in its order."""

    async def scenario() -> None:
        stored = 0
        async with AsyncBrokerClient(broker.host, broker.port) as client:
            await client.create_topic("orders", partitions=2)

            async def publish(publisher: int) -> None:
                nonlocal stored
                for number in range(messages):
                    await client.publish("orders", f"{publisher}.{number}", key=str(publisher))
                    stored += 1

            publishing = asyncio.gather(*(publish(publisher) for publisher in range(8)))
            for kill in range(1, kills + 1):
                goal = kill * 8 * messages // (kills + 1)
                await asyncio.to_thread(wait_until, partial(_reached, lambda: stored, goal), what="publishing")
                await asyncio.to_thread(broker.kill9)
                await asyncio.to_thread(broker.start)
            async with asyncio.timeout(60):
                await publishing

    asyncio.run(scenario())
    found = everything(broker, "orders", 8 * messages)
    assert len(found) == len(set(found)) == 8 * messages
    for publisher in range(8):
        own = [int(text.split(".")[1]) for text in found if text.startswith(f"{publisher}.")]
        assert own == list(range(messages))


def test_nothing_is_published_twice_or_lost_when_the_broker_is_killed(mortal: PenstockProcess) -> None:
    publish_through_kills(mortal, kills=1, messages=100)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_same_with_many_kills(mortal: PenstockProcess) -> None:
    publish_through_kills(mortal, kills=10, messages=2000)


def test_a_subscriber_goes_on_when_its_broker_comes_back(mortal: PenstockProcess) -> None:
    inbox = Inbox()
    with BrokerClient(mortal.host, mortal.port, request_timeout=20) as client:
        client.create_topic("prices")
        client.subscribe("prices", inbox, "watch")
        for number in range(10):
            client.publish_text("prices", str(number))
        inbox.wait_for(10)
        mortal.kill9()
        wait_until(lambda: not client.is_connected, what="the broken connection")
        late = threading.Thread(target=client.publish_text, args=("prices", "10"))
        late.start()  # it waits for the broker
        mortal.start()
        late.join(20)
        client.publish_text("prices", "11")
        wait_until(lambda: "11" in inbox.texts, what="messages after the restart")
    assert set(inbox.texts) == {str(number) for number in range(12)}
    assert len(inbox) <= 12 + 10  # what was handled but not stored as such may come once more


def test_a_client_without_its_broker_says_so_in_time(mortal: PenstockProcess) -> None:
    with BrokerClient(mortal.host, mortal.port, request_timeout=0.5) as client:
        client.create_topic("t")
        mortal.kill9()
        wait_until(lambda: not client.is_connected, what="the broken connection")
        started = time.monotonic()
        with pytest.raises(RequestTimeout, match="no connection at the moment"):
            client.publish_text("t", "x")
        assert time.monotonic() - started < 25
    with pytest.raises(NotConnected):
        client.publish_text("t", "x")


HANDLER = """
import os, pathlib
from penstock import Message, consumer, retry_policy

OUT = pathlib.Path(__file__).with_name("handled").open("a", buffering=1)
failed = set()

@consumer(topic="work", group="workers")
@retry_policy(attempts=5, initial=0.005, factor=1)
def work(body: str, message: Message) -> None:
    if message.sequence_number % 7 == 0 and message.sequence_number not in failed:
        failed.add(message.sequence_number)
        raise RuntimeError("once more")
    OUT.write(f"{body}\\n")
"""


def consume_through_kills(broker: PenstockProcess, directory: Path, kills: int, messages: int) -> None:
    """Consumer and broker die in turn while messages come in; all are handled, in order but for what comes again."""
    module, handled, log = directory / "work.py", directory / "handled", directory / "log"
    module.write_text(HANDLER)
    published, enough = 0, threading.Event()

    def publish() -> None:
        nonlocal published
        while not enough.is_set():
            client.publish_text("work", str(published))
            published += 1

    with BrokerClient(broker.host, broker.port) as client:
        client.create_topic("work")
        publisher = threading.Thread(target=publish)
        publisher.start()
        for kill in range(kills):
            with consumers(module, broker, log):
                goal = _most(handled) + messages
                wait_until(partial(_reached, lambda: _most(handled), goal), what=f"{goal} messages", within_s=60)
                if kill % 2:
                    broker.kill9()
                    broker.start()
        enough.set()
        publisher.join(30)
    with consumers(module, broker, log) as process:
        wait_until(lambda: _most(handled) == published - 1, what="all messages", within_s=60)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    lines = [int(line) for line in handled.read_text().split()]
    assert set(lines) == set(range(published)), "lost"
    firsts = list(dict.fromkeys(lines))
    assert firsts == sorted(firsts), "out of order"


@contextlib.contextmanager
def consumers(module: Path, broker: PenstockProcess, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Running, and killed at the end."""
    begun = log.read_bytes().count(b"consuming") if log.exists() else 0
    command = [sys.executable, "-m", "penstock", "consumers", "run", str(module), "-b", broker.bootstrap]
    with log.open("ab") as out, subprocess.Popen(command, stdout=out, stderr=out) as process:
        try:
            wait_until(lambda: log.read_bytes().count(b"consuming") > begun, what="the consumer")
            yield process
        finally:
            process.kill()


def _most(handled: Path) -> int:
    lines = handled.read_text().split() if handled.exists() else []
    return max(map(int, lines), default=-1)


def test_a_consumer_that_is_killed_loses_nothing_and_keeps_the_order(mortal: PenstockProcess, tmp_path: Path) -> None:
    consume_through_kills(mortal, tmp_path, kills=2, messages=150)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_same_with_many_kills_of_both(mortal: PenstockProcess, tmp_path: Path) -> None:
    consume_through_kills(mortal, tmp_path, kills=10, messages=1000)
