"""`penstock client-metrics` against a running broker."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.cli.conftest import CommandLine
from tests.support.penstock_process import PenstockProcess

pytestmark = pytest.mark.feature("F-01", "K-13")


@pytest.fixture
def subscription(penstock: CommandLine, name: str) -> Iterator[str]:
    yield name
    if name in penstock("client-metrics", "list").out:
        penstock("client-metrics", "delete", name)


def test_a_subscription_is_made_shown_changed_and_deleted(penstock: CommandLine, subscription: str) -> None:
    made = penstock(
        "client-metrics", "set", subscription, "--metrics", "org.apache.kafka.producer.,a", "--interval-ms", 1000,
        "--match", "client_id=app-.*", "--match", "client_software_name=apache-kafka-java",
    )  # fmt: skip
    assert f"subscription {subscription} set" in made.err
    (row,) = penstock("client-metrics", "list", "--output", "json").json
    assert row == {
        "subscription": subscription,
        "metrics": "org.apache.kafka.producer.,a",
        "interval.ms": "1000",
        "match": "client_id=app-.*,client_software_name=apache-kafka-java",
    }
    changed = penstock("client-metrics", "set", subscription, "-m", "*", "--output", "json")
    assert changed.json == {"subscription": subscription, "set": {"metrics": "*"}}
    (described,) = penstock("client-metrics", "describe", subscription, "-o", "json").json
    assert {config["name"]: config["value"] for config in described["configs"]}["interval.ms"] == "1000"
    assert "client_id=app-" in penstock("client-metrics", "describe", subscription).out
    deleted = penstock("client-metrics", "delete", subscription, "--output", "json")
    assert deleted.json == [{"subscription": subscription, "deleted": True, "error": None}]
    assert "no subscriptions yet" in penstock("client-metrics", "list").err


def test_configs_that_were_not_given_have_their_defaults(penstock: CommandLine, subscription: str) -> None:
    penstock("client-metrics", "set", subscription, "--metrics", "")
    (described,) = penstock("client-metrics", "describe", subscription, "-o", "json").json
    assert described["configs"] == [
        {"name": "interval.ms", "value": "300000", "source": "default"},
        {"name": "match", "value": "", "source": "default"},
        {"name": "metrics", "value": "", "source": "subscription"},
    ]


def test_what_is_refused(penstock: CommandLine, name: str) -> None:
    nothing = penstock("client-metrics", "set", name, code=2)
    assert "nothing to set; give --metrics" in nothing.err
    soon = penstock("client-metrics", "set", name, "--interval-ms", 5, code=1)
    assert "interval must be between 100 and 3600000" in soon.err
    assert "Illegal client matching pattern: x" in penstock("client-metrics", "set", name, "--match", "x", code=1).err
    assert "`penstock client-metrics list`" in penstock("client-metrics", "describe", name, code=4).err
    gone = penstock("client-metrics", "delete", name, "-o", "json", code=4)
    assert gone.json[0]["deleted"] is False


def test_no_broker(alone: CommandLine) -> None:
    assert "penstock serve" in alone("client-metrics", "list", "-b", "127.0.0.1:1", code=3).err


PLAIN_CLIENTS = """
import sys
from confluent_kafka import Consumer, Producer

servers, topic = {"bootstrap.servers": sys.argv[1]}, sys.argv[2]
producer = Producer(servers)
producer.produce(topic, "x")
assert producer.flush(20) == 0
consumer = Consumer({**servers, "group.id": topic, "auto.offset.reset": "earliest"})
consumer.subscribe([topic])
assert consumer.poll(20).value() == b"x"
consumer.close()
"""


def plain_clients(node: PenstockProcess, topic: str) -> str:
    """Run a program with plain confluent-kafka and return what it prints."""
    command = [sys.executable, "-c", PLAIN_CLIENTS, node.bootstrap, topic]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout + done.stderr


def test_clients_print_nothing_about_telemetry_that_nobody_asked_for(
    penstock: CommandLine, node: PenstockProcess, subscription: str
) -> None:
    """librdkafka prints a line when a broker gives it an instance id, which a new user takes for a problem."""
    assert plain_clients(node, subscription) == ""
    assert penstock("consume", subscription, "--count", 1).err == ""
    penstock("client-metrics", "set", subscription, "--metrics", "*")
    assert "Telemetry client instance id changed" in plain_clients(node, subscription)
    assert penstock("consume", subscription, "--count", 1).err == "", "commands do not push"
