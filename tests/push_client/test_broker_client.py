"""BrokerClient against a real broker: everything its users do, and what they are told when it goes wrong."""

import threading
import time
from collections.abc import Callable

import pytest

from penstock import BrokerClient, Message
from penstock.client.push.errors import (
    BrokerClientError,
    ClientClosed,
    NotConnected,
    SubscriptionConflict,
    TopicExists,
    UnknownSubscription,
    UnknownTopic,
)
from tests.support.broker_process import free_port
from tests.support.penstock_process import PenstockProcess
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("Q-01", "Q-07")


class Inbox(list[Message]):
    """A handler that keeps what it is given."""

    def __call__(self, message: Message) -> None:
        self.append(message)

    @property
    def texts(self) -> list[str]:
        return [message.text for message in self]

    def wait_for(self, count: int) -> None:
        wait_until(lambda: len(self) >= count, what=f"{count} messages")


@pytest.mark.feature("Q-04")
def test_a_message_arrives_with_everything_that_was_given(client: BrokerClient, name: str) -> None:
    assert client.create_topic(name, partitions=3)
    assert not client.create_topic(name, partitions=3)
    before_ms = time.time() * 1000 - 1
    stored = client.publish(name, b"\x00\xff", key="AAPL", properties={"source": "test", "n": 1, "none": None})
    client.create_subscription("of-" + name, name)
    inbox = Inbox()
    client.subscribe_to_subscription("of-" + name, inbox)
    inbox.wait_for(1)
    (message,) = inbox
    assert (message.topic, message.partition, message.sequence_number) == stored[:3]
    assert (message.body, message.key, message.message_type, message.delivery_count) == (b"\x00\xff", b"AAPL", 1, 1)
    assert message.properties == {"source": "test", "n": "1", "none": None}
    assert before_ms <= message.timestamp <= time.time() * 1000 + 1


def test_publish_text_and_offsets_in_order(client: BrokerClient, name: str) -> None:
    client.create_topic(name)
    offsets = [client.publish_text(name, f"line {number}", line=number).offset for number in range(5)]
    assert offsets == [0, 1, 2, 3, 4]
    client.create_subscription("of-" + name, name, start_offset=2)
    inbox = Inbox()
    client.subscribe_to_subscription("of-" + name, inbox)
    inbox.wait_for(3)
    assert inbox.texts == ["line 2", "line 3", "line 4"]
    assert inbox[0].properties == {"line": "2"}


@pytest.mark.feature("Q-02")
def test_two_members_share_message_by_message_and_subscriptions_are_independent(
    node: PenstockProcess, name: str
) -> None:
    with (
        BrokerClient(node.host, node.port, "one") as one,
        BrokerClient(node.host, node.port, "two") as two,
        BrokerClient(node.host, node.port, "three") as three,
    ):
        one.create_topic(name)
        for subscription in ("shared-" + name, "alone-" + name):
            one.create_subscription(subscription, name)
        first, second, everything = Inbox(), Inbox(), Inbox()
        one.subscribe_to_subscription("shared-" + name, first)
        two.subscribe_to_subscription("shared-" + name, second)
        three.subscribe_to_subscription("alone-" + name, everything)
        for number in range(10):
            one.publish_text(name, str(number))
        everything.wait_for(10)
        wait_until(lambda: len(first) + len(second) == 10, what="all messages at one of the two")
        assert (len(first), len(second)) == (5, 5)
        assert {*first.texts}.isdisjoint(second.texts)
        assert first.texts in (list("02468"), list("13579"))
        assert everything.texts == list("0123456789")


def test_what_a_handler_refuses_comes_again(client: BrokerClient, name: str) -> None:
    client.create_topic(name)
    client.create_subscription("of-" + name, name)
    seen: list[tuple[str, int]] = []

    def fails_once(message: Message) -> None:
        seen.append((message.text, message.delivery_count))
        if message.text == "bad" and message.delivery_count == 1:
            raise RuntimeError("not this time")

    client.subscribe_to_subscription("of-" + name, fails_once)
    for text in ("good", "bad", "late"):
        client.publish_text(name, text)
    wait_until(lambda: ("bad", 2) in seen, what="the message again")
    assert seen.count(("good", 1)) == seen.count(("late", 1)) == seen.count(("bad", 1)) == 1


def test_a_handler_may_publish_and_leave(client: BrokerClient, name: str) -> None:
    """It runs on a thread of its own: the answer to what it asks arrives while it waits."""
    client.create_topic(name)
    client.create_topic("copy-" + name)
    client.create_subscription("of-" + name, name)
    done = threading.Event()

    def copy(message: Message) -> None:
        client.publish("copy-" + name, message.body)
        if message.text == "last":
            client.unsubscribe_from_subscription("of-" + name)
            done.set()

    client.subscribe_to_subscription("of-" + name, copy)
    client.publish_text(name, "first")
    client.publish_text(name, "last")
    assert done.wait(15)
    inbox = Inbox()
    client.subscribe("copy-" + name, inbox)
    inbox.wait_for(2)
    assert inbox.texts == ["first", "last"]
    assert not client.is_subscribed("of-" + name)


def test_what_is_acknowledged_does_not_come_again_and_what_is_not_does(node: PenstockProcess, name: str) -> None:
    with BrokerClient(node.host, node.port) as client:
        client.create_topic(name)
        client.create_subscription("of-" + name, name)
        for number in range(4):
            client.publish_text(name, str(number))
        taken, let_go = threading.Event(), threading.Event()

        def stops_at_two(message: Message) -> None:
            if message.text == "2":
                taken.set()
                let_go.wait(15)
                raise RuntimeError("not done")

        client.subscribe_to_subscription("of-" + name, stops_at_two)
        assert taken.wait(15)
        let_go.set()
    with BrokerClient(node.host, node.port) as client:
        inbox = Inbox()
        client.subscribe_to_subscription("of-" + name, inbox)
        inbox.wait_for(2)
        assert sorted(inbox.texts) == ["2", "3"]


def test_positions_can_be_set_and_subscriptions_deleted(client: BrokerClient, name: str) -> None:
    client.create_topic(name)
    for number in range(3):
        client.publish_text(name, str(number))
    assert client.create_subscription("of-" + name, name, start_offset="latest")
    assert not client.create_subscription("of-" + name, name)
    inbox = Inbox()
    client.subscribe_to_subscription("of-" + name, inbox)
    client.commit_offset("of-" + name, 0, 1)
    inbox.wait_for(2)
    assert inbox.texts == ["1", "2"]
    client.unsubscribe_from_subscription("of-" + name)
    client.delete_subscription("of-" + name)
    with pytest.raises(UnknownSubscription):
        client.subscribe_to_subscription("of-" + name, inbox)
    with pytest.raises(UnknownSubscription):
        client.delete_subscription("of-" + name)


def test_many_threads_publish_at_once(client: BrokerClient, name: str) -> None:
    client.create_topic(name, partitions=2)
    failures: list[BaseException] = []

    def publish(thread: int) -> None:
        try:
            for number in range(25):
                client.publish(name, f"{thread}.{number}", key=str(thread))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=publish, args=(thread,)) for thread in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert failures == []
    inbox = Inbox()
    client.subscribe(name, inbox)
    inbox.wait_for(200)
    assert len(set(inbox.texts)) == len(inbox) == 200
    for publisher in range(8):
        own = [text for text in inbox.texts if text.startswith(f"{publisher}.")]
        assert own == [f"{publisher}.{number}" for number in range(25)]


# --- what goes wrong -----------------------------------------------------------------------------------------------


def test_refusals_have_types_and_name_the_fix(client: BrokerClient, name: str) -> None:
    client.create_topic(name)
    client.create_topic("other-" + name)
    client.create_subscription("of-" + name, name)
    refused: list[tuple[type[BrokerClientError], Callable[[], object], str]] = [
        (UnknownTopic, lambda: client.publish_text("no-" + name, "x"), "no-" + name),
        (UnknownTopic, lambda: client.publish(name, "x", partition=7), name),
        (UnknownTopic, lambda: client.create_subscription("of-no", "no-" + name), "no-" + name),
        (TopicExists, lambda: client.create_topic(name, partitions=5), name),
        (SubscriptionConflict, lambda: client.create_subscription("of-" + name, "other-" + name), "of-" + name),
        (UnknownSubscription, lambda: client.subscribe_to_subscription("no-" + name, print), "no-" + name),
        (BrokerClientError, lambda: client.unsubscribe_from_subscription("no-" + name), "not subscribed"),
    ]
    for kind, refuse, told in refused:
        with pytest.raises(kind) as failure:
            refuse()
        assert told in str(failure.value)
    client.subscribe_to_subscription("of-" + name, print)
    with pytest.raises(BrokerClientError, match="already"):
        client.subscribe_to_subscription("of-" + name, print)
    assert client.publish_text(name, "still works").offset == 0


def test_a_refused_message_does_not_hold_up_those_behind_it(client: BrokerClient, name: str) -> None:
    client.create_topic(name)
    client.publish_text(name, "before")
    with pytest.raises(BrokerClientError):
        client.publish(name, b"x" * (2 << 20))
    assert client.publish_text(name, "after").offset == 1


def test_a_client_that_is_not_connected_says_so(node: PenstockProcess) -> None:
    client = BrokerClient(node.host, node.port)
    with pytest.raises(NotConnected, match=r"call connect\(\) first"):
        client.publish_text("t", "x")
    client.connect()
    client.connect()
    assert client.is_connected
    client.disconnect()
    client.disconnect()
    with pytest.raises(ClientClosed, match="was disconnected"):
        client.create_topic("t")
    client.connect()
    assert client.is_connected
    client.disconnect()
    with pytest.raises(NotConnected, match=r"no broker at .* start one with `penstock serve`"):
        BrokerClient(node.host, free_port()).connect()
    with pytest.raises(NotConnected, match=r"the name nowhere\.invalid is not known"):
        BrokerClient("nowhere.invalid").connect()


def test_wrong_arguments_are_refused_at_once(client: BrokerClient, name: str) -> None:
    client.create_topic(name)
    with pytest.raises(ValueError, match="at least one"):
        client.create_topic("t", partitions=0)
    with pytest.raises(TypeError, match="give bytes or str"):
        client.publish(name, 7)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="delivery"):
        client.create_subscription("s", name, delivery="both")
    with pytest.raises(ValueError, match="1001 properties; a message has at most 1000"):
        client.publish(name, b"x", properties=[("p", number) for number in range(1_001)])
    with pytest.raises(TypeError, match="handler"):
        client.subscribe_to_subscription("s", None)  # type: ignore[arg-type]


def test_handlers_that_are_stuck_hold_up_nobody_else(client: BrokerClient, name: str) -> None:
    """Every handler may block forever: calls are answered, messages of others come, heartbeats continue."""
    go_on = threading.Event()
    inbox = Inbox()
    for number in range(3):
        client.create_topic(f"{name}-{number}")
    try:
        for number in range(2):
            client.subscribe(f"{name}-{number}", lambda message: go_on.wait(60))
            client.publish_text(f"{name}-{number}", "never done")
        client.subscribe(f"{name}-2", inbox)
        for number in range(20):
            client.publish_text(f"{name}-2", str(number))
        inbox.wait_for(20)
        assert inbox.texts == [str(number) for number in range(20)]
    finally:
        go_on.set()


def test_a_handler_that_ends_its_thread_ends_nothing(client: BrokerClient, name: str) -> None:
    client.create_topic(name)
    inbox = Inbox()

    def handler(message: Message) -> None:
        inbox(message)
        if len(inbox) == 1:
            raise SystemExit("on purpose")

    client.subscribe(name, handler, messages_per_frame=1)
    client.publish_text(name, "one")
    inbox.wait_for(2)
    assert inbox.texts == ["one", "one"]
