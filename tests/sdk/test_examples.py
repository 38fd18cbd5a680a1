"""The programs in examples/, run as a new user would."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock import Admin, Producer
from tests.support.broker_process import BrokerProcess, free_port
from tests.support.command_line import heed_interrupts
from tests.support.raw_client import unique_name
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("K-18", "K-19", "K-21")

EXAMPLES = Path(__file__).parents[2] / "examples"

Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start(broker: BrokerProcess) -> Iterator[Start]:
    """`start("simple-producer/producer.py", "--count", "3")`: the process, which is killed if it is still there."""
    started: list[subprocess.Popen[str]] = []

    def run(example: str, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, str(EXAMPLES / example), *arguments, "--bootstrap", broker.bootstrap]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heed_interrupts
        )
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.communicate()


def output(process: subprocess.Popen[str]) -> list[str]:
    out, problems = process.communicate(timeout=60)
    assert process.returncode == 0, problems
    return out.splitlines()


def test_producer_and_consumer(start: Start, admin: Admin) -> None:
    topic, group = unique_name("events"), unique_name("group")
    sent = output(start("simple-producer/producer.py", "--topic", topic, "--count", "6"))
    assert len(sent) == 6
    assert sent[0].startswith(f"event 0 is in {topic}-")
    reading = ["simple-consumer/consumer.py", "--topic", topic, "--group", group]
    lines = output(start(*reading, "--count", "6"))
    assert sorted(line.partition(": ")[2] for line in lines[1:]) == [
        f"key-{number % 4} {{'number': {number}, 'text': 'event {number}'}}" for number in (0, 4, 1, 5, 2, 3)
    ]
    assert sum(admin.group_lag(group).values()) == 0


def test_the_consumer_ends_cleanly(start: Start, admin: Admin) -> None:
    topic, group = unique_name("events"), unique_name("group")
    admin.create_topic(topic)
    consumer = start("simple-consumer/consumer.py", "--topic", topic, "--group", group)
    assert consumer.stdout is not None
    assert consumer.stdout.readline() == f"mine: {topic}-0\n"
    consumer.send_signal(signal.SIGINT)
    assert output(consumer) == []
    assert admin.describe_group(group).members == ()


@pytest.mark.feature("K-07")
def test_exactly_once_through_a_kill(start: Start, admin: Admin) -> None:
    for topic in {"billing-orders", "billing-invoices"} & set(admin.list_topics()):
        admin.delete_topic(topic)
    assert output(start("exactly-once/billing.py", "fill", "--count", "300")) == ["300 orders"]
    victim = start("exactly-once/billing.py", "run")
    assert victim.stdout is not None
    assert victim.stdout.readline().endswith("invoices\n")
    victim.kill()
    output(start("exactly-once/billing.py", "run", "--idle-s", "2"))
    (found,) = output(start("exactly-once/billing.py", "check"))
    assert found == "300 orders, 0 without an invoice, 0 with more than one"


def post(url: str, body: dict[str, str]) -> Any:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def test_events_over_http(start: Start, broker: BrokerProcess) -> None:
    port, topic = free_port(), unique_name("events")
    service = start("fastapi-events/app.py", "--topic", topic, "--port", str(port))
    url = f"http://127.0.0.1:{port}/events"

    def first() -> Any:
        try:
            return post(url, {"name": "login", "user": "ann"})
        except urllib.error.URLError:
            return None

    assert wait_until(first, what="the service answers", within_s=60) == {"partition": 0, "offset": 0}
    assert post(url, {"name": "logout", "user": "ann"}) == {"partition": 0, "offset": 1}
    with pytest.raises(urllib.error.HTTPError, match="422"):
        post(url, {"name": "login"})
    with pytest.raises(urllib.error.HTTPError, match="422"):
        urllib.request.urlopen(f"{url}?limit=0", timeout=30)
    with Producer(broker.bootstrap) as producer:
        producer.send(topic, b"of somebody else")
    assert post(url, {"name": "login", "user": "bob"}) == {"partition": 0, "offset": 3}
    with urllib.request.urlopen(f"{url}?from_start=true&limit=3", timeout=30) as answer:
        events = [json.loads(line) for line in answer]
    assert [(each["name"], each["user"]) for each in events] == [("login", "ann"), ("logout", "ann"), ("login", "bob")]
    with urllib.request.urlopen(f"{url}?from_start=true", timeout=30) as answer:  # a stream without an end
        assert json.loads(answer.readline()) == events[0]
        service.send_signal(signal.SIGINT)
        service.wait(30)
