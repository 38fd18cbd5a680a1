"""`penstock push`: the subscription broker's own command line, and what it says when something is wrong."""

import signal
import threading

import pytest

from tests.support.broker_process import free_port
from tests.support.command_line import CommandLine, Outcome
from tests.support.penstock_process import PenstockProcess
from tests.support.variants import variants
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("Q-03", "Q-07")


class Push:
    def __init__(self, penstock: CommandLine, node: PenstockProcess) -> None:
        self.penstock = penstock
        self.address = ("--host", node.host, "--port", node.port)

    def __call__(self, *args: object, code: int = 0) -> Outcome:
        return self.penstock("push", *args, *self.address, code=code)


@pytest.fixture
def push(penstock: CommandLine, node: PenstockProcess) -> Push:
    return Push(penstock, node)


def test_the_commands_of_the_reference(push: Push, name: str) -> None:
    events, group = f"events-{name}", f"my-group-{name}"
    assert push("create-topic", events, "--partitions", 1).err == f"topic {events} created\n"
    assert push("create-topic", events, "--partitions", 1).err == f"topic {events} already exists\n"
    assert (
        push("create-subscription", group, events, "--offset", 0).err == f"subscription {group} of {events} created\n"
    )
    assert push("publish", events, "Hello World").err == f"{events}-0@0\n"
    assert push("publish", events, "with more", "--key", "k", "--property", "a=1", "--property", "b=2").err
    found = push("join-subscription", group, "--count", 2, "--output", "json").json_lines
    assert [one["value"] for one in found] == ["Hello World", "with more"]
    assert (found[1]["key"], found[1]["headers"], found[1]["offset"]) == ("k", [["a", "1"], ["b", "2"]], 1)
    assert push("subscribe", events, "--offset", 1, "--count", 1).lines == ["with more"]
    verbose = push("subscribe", events, "--offset", 1, "--count", 1, "--verbose").out
    assert verbose.startswith(f"{events}-0@1 time=")
    assert verbose.endswith("key=k properties=a=1,b=2 body=with more\n")
    assert push("delete-subscription", group).err == f"subscription {group} deleted\n"


def test_json_answers(push: Push, name: str) -> None:
    assert push("create-topic", name, "-o", "json").json == {"topic": name, "created": True}
    stored = push("publish", name, "x", "-o", "json").json
    assert (stored["topic"], stored["partition"], stored["offset"]) == (name, 0, 0)


@variants("number", [(signal.SIGINT,), (signal.SIGTERM,)], quick=[(signal.SIGTERM,)])
def test_ctrl_c_leaves_in_order_and_what_was_printed_is_acknowledged(push: Push, name: str, number: int) -> None:
    push("create-topic", name)
    push("create-subscription", "of-" + name, name)
    for text in ("one", "two"):
        push("publish", name, text)
    with push.penstock.started("push", "join-subscription", "of-" + name, *push.address) as process:
        assert process.stdout is not None
        lines: list[bytes] = []
        reader = threading.Thread(target=lambda: lines.extend(process.stdout or ()))
        reader.start()
        wait_until(lambda: len(lines) == 2, what="both messages")
        process.send_signal(number)
        assert process.wait(20) == 0
        reader.join()
    assert lines == [b"one\n", b"two\n"]
    push("publish", name, "three")
    assert push("join-subscription", "of-" + name, "--count", 1).lines == ["three"]


def test_subscribe_leaves_nothing_behind_unless_it_is_named(push: Push, name: str) -> None:
    push("create-topic", name)
    push("publish", name, "x")
    push("subscribe", name, "--count", 1)
    assert not [group for group in push.penstock("group", "list").out.split() if name in group]
    push("subscribe", name, "--count", 1, "--group", "kept-" + name)
    assert "kept-" + name in push.penstock("group", "list").out


def test_what_is_wrong_is_said_with_a_code(push: Push, name: str) -> None:
    create_topic, create_subscription = f"penstock push create-topic {name}", "penstock push create-subscription"
    assert create_topic in push("publish", name, "x", code=4).err
    assert create_topic in push("publish", name, "x", "--partition", 0, code=4).err
    assert f"{create_subscription} {name} TOPIC" in push("join-subscription", name, code=4).err
    assert create_topic in push("create-subscription", "s", name, code=4).err
    assert f"{create_subscription} {name} TOPIC" in push("delete-subscription", name, code=4).err
    push("create-topic", name)
    push("create-topic", "other-" + name)
    push("create-subscription", "of-" + name, name)
    exists = push("create-topic", name, "--partitions", 3, code=1).err
    assert f"topic '{name}' already exists, with 1 partition;" in exists
    assert "of-" + name in push("create-subscription", "of-" + name, "other-" + name, code=1).err
    assert "NAME=VALUE" in push("publish", name, "x", "--property", "novalue", code=2).err
    assert "--offset" in push("subscribe", name, "--offset", "soon", code=2).err


def test_without_a_broker(alone: CommandLine) -> None:
    told = alone("push", "publish", "t", "x", "--port", free_port(), code=3).err
    assert "no broker at localhost" in told
    assert "penstock serve" in told


def test_help_lists_the_commands(alone: CommandLine) -> None:
    listed = alone("push", "--help").out
    for command in ("create-topic", "create-subscription", "publish", "join-subscription", "subscribe"):
        assert command in listed


@pytest.mark.feature("P-13")
def test_subscriptions_are_listed_and_reset_over_http(
    penstock: CommandLine, push: Push, node: PenstockProcess, name: str
) -> None:
    url = ("--url", f"http://{node.host}:{node.http_port}")
    push("create-topic", name)
    push("publish", name, "one")
    push("create-subscription", f"s-{name}", name)
    listed = {row["name"]: row for row in penstock("push", "list", *url, "-o", "json").json}
    assert listed[f"s-{name}"] == {
        "name": f"s-{name}", "topic": name, "delivery": "message", "members": 0, "unacknowledged": 0, "refresh": None,
    }  # fmt: skip
    assert f"s-{name}" in penstock("push", "list", *url).out
    told = penstock("push", "reset", f"s-{name}", *url).err
    assert told == f"refresh 1 of s-{name} started: partition 0 up to 1\n"
    again = penstock("push", "reset", f"s-{name}", *url, "-o", "json").json
    assert again == {"subscription": f"s-{name}", "refresh_id": 2, "end_offsets": {"0": 1}}
    assert "no subscription" in penstock("push", "reset", "nobody", *url, code=4).err


def test_a_subscription_is_reset_over_the_push_port(push: Push, name: str) -> None:
    """With --host and --port, as every other push command: they were options that it did not have."""
    push("create-topic", name)
    push("publish", name, "one")
    push("create-subscription", f"s-{name}", name)
    assert push("join-subscription", f"s-{name}", "--count", 1).out == "one\n"
    assert push("reset", f"s-{name}").err == f"refresh of s-{name} started\n"
    assert push("join-subscription", f"s-{name}", "--count", 1).out == "one\n"
    assert push("reset", f"s-{name}", "-o", "json").json == {"subscription": f"s-{name}", "reset": True}
    assert "no subscription 'nobody'" in push("reset", "nobody", code=4).err


@pytest.mark.feature("P-09")
def test_subscriptions_are_groups_to_the_group_command(penstock: CommandLine, push: Push, name: str) -> None:
    push("create-topic", name)
    push("publish", name, "one")
    push("create-subscription", f"g-{name}", name)
    push("join-subscription", f"g-{name}", "--count", 1)
    push("publish", name, "two")
    assert f"g-{name}" in penstock("group", "list").out
    (group,) = penstock("group", "describe", f"g-{name}", "-o", "json").json
    (row,) = group["partitions"]
    assert (row["topic"], row["committed"], row["lag"]) == (name, 1, 1)


def test_what_is_more_than_was_asked_for_goes_back_without_a_word(push: Push, name: str) -> None:
    push("create-topic", name)
    push("create-subscription", "few-" + name, name)
    for number in range(5):
        push("publish", name, str(number))
    found = push("join-subscription", "few-" + name, "--count", 2)
    assert found.lines == ["0", "1"]
    assert found.err == ""
    assert push("join-subscription", "few-" + name, "--count", 3).lines == ["2", "3", "4"]
