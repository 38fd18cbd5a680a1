"""Subscriptions over the wire of a real broker: turns, credit, answers, redelivery, dead letters, starts."""

from __future__ import annotations

import time

import pytest

from penstock.model.errors import ErrorCode
from penstock.protocol.push import messages as m
from penstock.protocol.push.data import Verdict
from penstock.protocol.push.values import Start, StartKind
from tests.push.conftest import SHORT_ACKS, Connect
from tests.support.push_client import PushClient, PushRefused
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("P-08", "P-09", "Q-02", "Q-07")

CONFIG = SHORT_ACKS


def bodies(count: int) -> list[bytes]:
    return [str(number).encode() for number in range(count)]


def test_ten_messages_and_two_members_are_five_and_five_in_turn(
    client: PushClient, connect: Connect, topic: str
) -> None:
    client.ask(m.CreateSubscription("turns", topic))
    first, second = connect(), connect()
    first.ask(m.Subscribe("turns"))
    second.ask(m.Subscribe("turns"))
    client.publish(topic, *bodies(10))
    assert [item.offset for item in first.items(5)] == [0, 2, 4, 6, 8]
    assert [item.offset for item in second.items(5)] == [1, 3, 5, 7, 9]


def test_the_turns_are_the_same_for_what_was_there_before(client: PushClient, connect: Connect, topic: str) -> None:
    client.publish(topic, *bodies(10))
    first, second = connect(), connect()
    client.ask(m.CreateSubscription("late", topic, Start(StartKind.LATEST)))
    first.ask(m.Subscribe("late"))
    second.ask(m.Subscribe("late"))
    first.ask(m.CommitOffset("late", 0, 0))
    assert [item.offset for item in first.items(5)] == [0, 2, 4, 6, 8]
    assert [item.offset for item in second.items(5)] == [1, 3, 5, 7, 9]


def test_subscriptions_of_a_topic_are_independent(client: PushClient, connect: Connect, topic: str) -> None:
    client.publish(topic, *bodies(5))
    for name in ("one", "two"):
        reader = connect()
        reader.ask(m.Subscribe("", topic, f"{topic}-{name}"))
        assert [item.body for item in reader.items(5)] == bodies(5)


def test_never_more_in_flight_than_the_credit_and_frames_of_the_size_asked_for(
    client: PushClient, connect: Connect, topic: str
) -> None:
    client.publish(topic, *bodies(12))
    reader = connect()
    answer = reader.ask(m.Subscribe("", topic, "credit", credit=5, messages_per_frame=2))
    assert (answer.credit, answer.messages_per_frame) == (5, 2)
    frames = [reader.data() for _ in range(3)]
    assert [len(frame.items) for frame in frames] == [2, 2, 1]
    assert reader.is_silent()
    reader.acknowledge(frames[0])
    assert [item.offset for item in reader.data().items] == [5, 6]
    assert reader.is_silent()


def test_the_default_credit_and_frame(client: PushClient, topic: str) -> None:
    assert client.ask(m.Subscribe("", topic, "defaults")) == m.SubscribeAck("defaults", 100, 10)


def test_a_message_is_pushed_when_it_is_published(client: PushClient, connect: Connect, topic: str) -> None:
    reader = connect()
    reader.ask(m.Subscribe("", topic, "pushed"))
    for number in range(5):
        client.publish(topic, b"now", key=b"k", properties=((b"n", str(number).encode()),))
        (item,) = reader.data(2.0).items
        assert (item.offset, item.delivery_count, item.key, item.body) == (number, 1, b"k", b"now")
        assert item.properties == ((b"n", str(number).encode()),)
        assert abs(item.timestamp - time.time() * 1000) < 60_000


def test_what_is_not_acknowledged_in_time_goes_to_another_member(
    client: PushClient, connect: Connect, topic: str
) -> None:
    slow, quick = connect(), connect()
    slow.ask(m.Subscribe("", topic, "slow"))
    client.publish(topic, b"x")
    assert slow.data().items[0].delivery_count == 1
    quick.ask(m.Subscribe("", topic, "slow"))
    (item,) = quick.data().items
    assert (item.offset, item.delivery_count) == (0, 2)


def test_the_end_of_a_connection_gives_its_messages_back_at_once(
    client: PushClient, connect: Connect, topic: str
) -> None:
    leaving, staying = connect(), connect()
    leaving.ask(m.Subscribe("", topic, "leaving", credit=10))
    staying.ask(m.Subscribe("", topic, "leaving", credit=10))
    client.publish(topic, *bodies(6))
    kept = staying.items(3, acknowledge=False)
    leaving.data()
    leaving.close()
    again = staying.items(3)
    assert sorted(item.offset for item in again) == [0, 2, 4]
    assert {item.delivery_count for item in again} == {2}
    assert [item.offset for item in kept] == [1, 3, 5]


def test_not_done_comes_again_and_after_the_last_delivery_it_is_a_dead_letter(
    client: PushClient, connect: Connect, topic: str
) -> None:
    reader = connect()
    reader.ask(m.Subscribe("", topic, "poison"))
    client.publish(topic, b"bad", key=b"k", properties=((b"p", b"v"),))
    for count in (1, 2, 3):
        data = reader.data()
        assert data.items[0].delivery_count == count
        reader.acknowledge(data, Verdict.NOT_DONE)
    dead = f"{topic}.poison.dead"
    wait_until(lambda: exists(client, dead), what="the dead-letter topic")
    client.ask(m.Subscribe("", dead, "undertaker"))
    (item,) = client.data().items
    properties = dict(item.properties)
    assert (item.key, item.body, properties[b"p"]) == (b"k", b"bad", b"v")
    assert properties[b"dead-letter-topic"] == topic.encode()
    assert properties[b"dead-letter-offset"] == b"0"
    assert properties[b"dead-letter-deliveries"] == b"3"
    client.publish(topic, b"good")
    assert reader.data().items[0].offset == 1


def exists(client: PushClient, topic: str) -> bool:
    try:
        return bool(client.ask(m.CreateTopic(topic, 0)))
    except PushRefused as refused:
        if refused.code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise
        return False


def test_a_consumer_that_comes_back_again_and_again_gets_the_delivery_count(
    client: PushClient, connect: Connect, topic: str
) -> None:
    client.publish(topic, b"crash")
    for count in (1, 2, 3):
        reader = connect()
        reader.ask(m.Subscribe("", topic, "crashing"))
        assert reader.data().items[0].delivery_count == count
        reader.close()
    reader = connect()
    reader.ask(m.Subscribe("crashing"))
    wait_until(lambda: exists(client, f"{topic}.crashing.dead"), what="the dead-letter topic")
    assert reader.is_silent()


def test_acknowledged_messages_do_not_come_again(client: PushClient, connect: Connect, topic: str) -> None:
    client.publish(topic, *bodies(6))
    reader = connect()
    reader.ask(m.Subscribe("", topic, "gaps"))
    data = reader.data()
    reader.acknowledge(data, Verdict.DONE, data.items[0], data.items[2], data.items[4])
    reader.ask(m.Unsubscribe("gaps"))
    reader.ask(m.Subscribe("gaps"))
    assert sorted(item.offset for item in reader.items(3)) == [1, 3, 5]


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (StartKind.EARLIEST, 0, [0, 1, 2, 3]),
        (StartKind.OFFSET, 2, [2, 3]),
        (StartKind.LATEST, 0, []),
        (StartKind.TIME, 3000, [2, 3]),
        (StartKind.TIME, 1 << 50, []),
    ],
)
def test_starts(client: PushClient, topic: str, kind: StartKind, value: int, expected: list[int]) -> None:
    for timestamp in (1000, 2000, 3000, 4000):
        client.publish(topic, b"x", timestamp=timestamp)
    client.ask(m.CreateSubscription(f"start-{topic}", topic, Start(kind, value)))
    client.ask(m.Subscribe(f"start-{topic}"))
    if expected:
        assert [item.offset for item in client.items(len(expected))] == expected
    assert client.is_silent(0.2)
    client.publish(topic, b"live")
    assert client.data().items[0].offset == 4


def test_several_partitions(client: PushClient, connect: Connect, topic: str) -> None:
    wide = f"{topic}-wide"
    client.ask(m.CreateTopic(wide, 3))
    for number in range(9):
        client.publish(wide, str(number).encode(), partition=number % 3)
    reader = connect()
    reader.ask(m.Subscribe("", wide, "wide"))
    items = reader.items(9)
    assert sorted((item.partition, item.offset) for item in items) == [(p, o) for p in range(3) for o in range(3)]
    for partition in range(3):
        mine = [item.offset for item in items if item.partition == partition]
        assert mine == sorted(mine)


def test_commit_offset_goes_forwards_and_back(client: PushClient, topic: str) -> None:
    client.publish(topic, *bodies(5))
    client.ask(m.Subscribe("", topic, "seek", credit=10))
    client.items(5)
    client.ask(m.CommitOffset("seek", 0, 3))
    assert [item.offset for item in client.items(2)] == [3, 4]
    client.ask(m.CommitOffset("seek", 0, 5))
    client.publish(topic, b"next")
    assert client.data().items[0].offset == 5
    with pytest.raises(PushRefused, match="it has 0 to 6"):
        client.ask(m.CommitOffset("seek", 0, 99))


def test_a_deleted_subscription_is_gone_with_its_position(client: PushClient, connect: Connect, topic: str) -> None:
    client.publish(topic, *bodies(3))
    client.ask(m.Subscribe("", topic, "short-lived"))
    client.items(3)
    member = connect()
    member.ask(m.Subscribe("short-lived"))
    client.ask(m.DeleteSubscription("short-lived"))
    assert "deleted" in member.ends()[-1].message
    with pytest.raises(PushRefused, match="no subscription"):
        client.ask(m.Subscribe("short-lived"))
    client.ask(m.Subscribe("", topic, "short-lived"))
    assert len(client.items(3)) == 3


def test_the_answers_to_creating(client: PushClient, topic: str) -> None:
    assert client.ask(m.CreateTopic(topic, 1)) == m.CreateTopicAck(1, False)
    assert client.ask(m.CreateTopic(topic, 0)) == m.CreateTopicAck(1, False)
    with pytest.raises(PushRefused, match="exists, with 1 partition;"):
        client.ask(m.CreateTopic(topic, 2))
    assert client.ask(m.CreateSubscription("made", topic)) == m.CreateSubscriptionAck(True)
    assert client.ask(m.CreateSubscription("made", topic)) == m.CreateSubscriptionAck(False)
    with pytest.raises(PushRefused, match="reads topic"):
        client.ask(m.CreateSubscription("made", f"{topic}-other"))
    with pytest.raises(PushRefused, match="create-topic"):
        client.ask(m.CreateSubscription("nowhere", "no-such-topic"))
    with pytest.raises(PushRefused, match="letters, digits"):
        client.ask(m.CreateSubscription("white space", topic))


def test_twice_in_a_subscription_is_refused(client: PushClient, topic: str) -> None:
    client.ask(m.Subscribe("", topic, "twice"))
    with pytest.raises(PushRefused, match="already"):
        client.ask(m.Subscribe("twice"))
