"""Slow, stuck, lying and hostile push clients: an ERROR or a closed connection, bounded memory, others undisturbed."""

from __future__ import annotations

import contextlib
import random
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.model.errors import ErrorCode
from penstock.protocol.push import messages as m
from penstock.protocol.push.data import AckData, AckRange, Verdict, data_frame, data_head
from penstock.protocol.push.frames import FrameType, encode_frame
from tests.push.conftest import SHORT_ACKS, Connect
from tests.support.metrics_page import metric
from tests.support.penstock_process import PenstockProcess
from tests.support.push_client import PushClient, PushRefused
from tests.support.raw_client import RawClient
from tests.support.undisturbed import nobody_waits
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("P-07", "P-28")

CONFIG = SHORT_ACKS

MIB = 1 << 20


@pytest.fixture
def bystander(connect: Connect, topic: str) -> Iterator[PushClient]:
    """A client that publishes and reads before and after, and must not notice anything."""
    one = connect()
    one.ask(m.Subscribe("", topic, f"bystander-{topic}"))
    one.publish(topic, b"before")
    assert one.items(1)[0].body == b"before"
    yield one
    one.publish(topic, b"after")
    assert one.items(1)[0].body == b"after"


def memory_bytes(node: PenstockProcess) -> int:
    status = Path(f"/proc/{node.pid}/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"GET / HTTP/1.1\r\n\r\n", id="http"),
        pytest.param(b"\x0f" + bytes(12), id="a type that does not exist"),
        pytest.param(encode_frame(FrameType.PUBLISH, 1, b"")[:9] + b"\xff\xff\xff\xff", id="a length of 4 GiB"),
        pytest.param(encode_frame(FrameType.PUBLISH, 1, b"nonsense"), id="a payload that is none"),
        pytest.param(encode_frame(FrameType.CREATE_TOPIC, 1, b"\x00\x02\xff\xfe\x00\x00\x00\x01"), id="no UTF-8"),
        pytest.param(encode_frame(FrameType.HEARTBEAT, 0, b"more"), id="bytes after the end"),
        pytest.param(data_frame(data_head("s", "t"), [], 1), id="DATA from a client"),
        pytest.param(m.encode(m.Reset("s", 0, ())), id="a request without a number"),
        pytest.param(m.encode(m.PlainAck(FrameType.READY), 1), id="an ACK of nothing"),
        pytest.param(encode_frame(FrameType.DISCONNECT, 0, b"\xff"), id="a DISCONNECT that is none"),
        pytest.param(encode_frame(FrameType.ERROR, 0, b"\xff"), id="an ERROR that is none"),
        pytest.param(m.encode(AckData("s", (AckRange(0, 5, 5),)), 1)[:-17] + bytes(17), id="a range backwards"),
    ],
)
def test_what_is_no_frame_closes_the_connection_with_an_error(
    connect: Connect, bystander: PushClient, sent: bytes
) -> None:
    hostile = connect()
    if sent.endswith(bytes(17)):
        sent = m.encode(AckData("s", (AckRange(0, 5, 3),)), 1)
    hostile.socket.sendall(sent)
    *_, last = hostile.ends()
    assert isinstance(last, m.Error)
    assert last.code == ErrorCode.INVALID_REQUEST
    assert last.message


def test_a_refresh_that_a_client_makes_up_is_refused(connect: Connect, bystander: PushClient) -> None:
    """With refresh id 0 a RESET asks for one; the numbers are the broker's."""
    client = connect()
    with pytest.raises(PushRefused) as refused:
        client.ask(m.Reset("s", 1, ()))
    assert refused.value.code == ErrorCode.INVALID_REQUEST
    assert "refresh id 0" in refused.value.message


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        pytest.param(
            m.Publish("", 0, -1, "t", 0, None, b"", ((b"", None),) * (4 * MIB)), "properties", id="properties"
        ),
        pytest.param(m.Reset("s", 5, (m.TopicEnds("t", ((1, 1),) * MIB),)), "ends of more than", id="ends"),
    ],
)
def test_very_many_of_something_are_not_read(
    connect: Connect, bystander: PushClient, node: PenstockProcess, value: m.Payload, reason: str
) -> None:
    frame = m.encode(value, 1)
    hostile = connect()
    with RawClient(node.host, node.port) as other, nobody_waits(other, node):
        hostile.socket.sendall(frame)
        *_, last = hostile.ends()
    assert isinstance(last, m.Error)
    assert reason in last.message


def test_noise_of_every_kind(connect: Connect, bystander: PushClient) -> None:
    chance = random.Random(7)
    for _ in range(100):
        hostile = connect()
        noise = chance.randbytes(chance.randint(1, 200))
        if chance.random() < 0.7:
            noise = encode_frame(chance.choice(list(FrameType)), chance.randrange(3), noise)
        hostile.socket.sendall(noise)
        hostile.close()


def test_half_frames_and_a_vanished_client(connect: Connect, bystander: PushClient, topic: str) -> None:
    for end in (1, 5, 13, 40):
        hostile = connect()
        hostile.socket.sendall(m.encode(m.Publish("c", 1, 0, topic, 0, None, bytes(100)), 1)[:end])
        hostile.close()


def test_an_ack_for_messages_never_sent_changes_nothing(connect: Connect, bystander: PushClient, topic: str) -> None:
    liar = connect()
    liar.ask(m.Subscribe("", topic, "lied-to"))
    (item,) = liar.data().items
    for ranges in ([AckRange(0, 0, 1 << 62)], [AckRange(9, 0, 0)], [AckRange(0, 0, 0), AckRange(0, 1, 1)]):
        message_id = liar.send(AckData("lied-to", tuple(ranges)))
        error = liar.receive()
        assert isinstance(error, m.Error), message_id
        assert "not sent" in error.message
    liar.send(AckData("no-such-subscription", (AckRange(0, 0, 0),)))
    assert liar.receive().code == ErrorCode.GROUP_ID_NOT_FOUND
    again = liar.data()
    assert (again.items[0].offset, again.items[0].delivery_count) == (item.offset, 2), "it was not acknowledged"


def test_another_members_message_cannot_be_acknowledged(connect: Connect, bystander: PushClient, topic: str) -> None:
    owner, thief = connect(), connect()
    owner.ask(m.Subscribe("", topic, "stolen"))
    owner.data()
    thief.ask(m.Subscribe("stolen"))
    thief.send(AckData("stolen", (AckRange(0, 0, 0),)))
    owner.close()
    assert thief.data().items[0].delivery_count == 2


def test_no_ack_ever_gets_no_more_than_the_credit(
    connect: Connect, bystander: PushClient, node: PenstockProcess, topic: str
) -> None:
    stuck = connect()
    bystander.publish(topic, *[b"x"] * 30)
    assert len(bystander.items(30)) == 30
    stuck.ask(m.Subscribe("", topic, "never", credit=5))
    got = [item for _ in range(1) for item in stuck.data().items]
    assert len(got) <= 5
    assert stuck.is_silent(0.2)


def test_a_client_that_does_not_read_does_not_make_the_broker_grow(
    client: PushClient, connect: Connect, bystander: PushClient, node: PenstockProcess, topic: str
) -> None:
    big = f"{topic}-big"
    client.ask(m.CreateTopic(big, 1))
    for _ in range(60):
        client.publish(big, bytes(MIB - 1000))
    wait_until(lambda: memory_bytes(node) > 0, what="memory")
    before = memory_bytes(node)
    deaf = []
    for number in range(8):
        one = connect()
        one.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one.send(m.Subscribe("", big, f"deaf-{number}", credit=1000, messages_per_frame=100))
        deaf.append(one)
    wait_until(lambda: metric(node, "penstock_push_members") >= 8, what="the deaf are members")
    bystander.publish(topic, b"meanwhile")
    assert bystander.items(1)[0].body == b"meanwhile"
    assert memory_bytes(node) - before < 120 * MIB, "8 clients with 60 MiB each to read"


def test_publishing_without_reading_the_answers_is_slowed_down(
    connect: Connect, bystander: PushClient, node: PenstockProcess, topic: str
) -> None:
    flood = connect()
    flood.socket.settimeout(1.0)
    frame = m.encode(m.Publish("", 0, -1, "no-such-topic", 0, None, b"x"), 1) * 1000
    sent = 0
    with contextlib.suppress(TimeoutError):
        while sent < 2000:
            flood.socket.sendall(frame)
            sent += 1
    assert sent < 2000, "140 MB of requests and their answers were taken"


def test_a_thousand_subscriptions_of_one_connection_and_not_one_more(
    connect: Connect, bystander: PushClient, node: PenstockProcess, topic: str
) -> None:
    many = connect()
    for number in range(1000):
        many.send(m.Subscribe("", topic, f"many-{number}", credit=1))
    acks = data = 0
    while acks < 1000 or data < 1000:
        value = many.receive()
        if isinstance(value, m.SubscribeAck):
            acks += 1
        else:
            assert not isinstance(value, m.Error), value
            data += 1
            many.acknowledge(value)
    with pytest.raises(PushRefused, match="at most 1,000"):
        many.ask(m.Subscribe("", topic, "one-too-many"))
    many.close()
    wait_until(lambda: metric(node, "penstock_push_members") <= 2, what="they have all left")


def test_a_subscriber_that_disconnects_in_the_middle_of_a_batch(
    connect: Connect, bystander: PushClient, topic: str
) -> None:
    bystander.publish(topic, *[b"%d" % number for number in range(50)])
    bystander.items(50)
    leaving = connect()
    leaving.ask(m.Subscribe("", topic, "halfway"))
    data = leaving.data()
    leaving.acknowledge(data, Verdict.DONE, *data.items[:3])
    leaving.ask(m.CreateTopic(topic, 0))
    leaving.close()
    staying = connect()
    staying.ask(m.Subscribe("halfway"))
    offsets = sorted(item.offset for item in staying.items(48))
    assert offsets == [*range(3, 51)]


@pytest.mark.parametrize("request_", [m.Ready("x", 1), m.Unsubscribe("x"), m.CommitOffset("x", 0, 0)], ids=str)
def test_requests_about_a_subscription_one_is_not_in(client: PushClient, request_: m.Payload) -> None:
    with pytest.raises(PushRefused, match="SUBSCRIBE comes first"):
        client.ask(request_)


def test_disconnect_is_taken_at_its_word(connect: Connect) -> None:
    leaving = connect()
    leaving.send(m.Disconnect("done"), 0)
    assert leaving.ends() == []


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_nothing_leaks_over_ten_thousand_connects(node: PenstockProcess, bystander: PushClient, topic: str) -> None:
    def connect_and_vanish(count: int) -> None:
        for number in range(count):
            with PushClient(node.push_port) as one:
                one.send(m.Subscribe("", topic, f"leak-{number % 10}", client_id=f"c{number}"))
                one.send(m.Publish(f"c{number % 100}", number + 1, 0, topic, 0, None, b"x"))
                if number % 3:
                    one.receive()
            if number % 500 == 0:
                bystander.send(m.Heartbeat(), 0)
                while not bystander.is_silent(0.01):
                    pass

    connect_and_vanish(1000)
    wait_until(lambda: metric(node, "penstock_push_connections") <= 3, what="everybody has gone")
    descriptors = len(list(Path(f"/proc/{node.pid}/fd").iterdir()))
    before = memory_bytes(node)
    connect_and_vanish(10_000)
    wait_until(lambda: metric(node, "penstock_push_connections") <= 3, what="everybody has gone")
    assert metric(node, "penstock_push_members") <= 2
    assert len(list(Path(f"/proc/{node.pid}/fd").iterdir())) <= descriptors + 5
    assert memory_bytes(node) - before < 30 * MIB
