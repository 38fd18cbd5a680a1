"""The core of the push client against a model of the broker: whatever breaks, nothing is stored twice or lost."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.client.push.acknowledgements import Acknowledgements
from penstock.client.push.calls import Call
from penstock.client.push.core import ClientCore
from penstock.client.push.errors import (
    BrokerRefused,
    ClientClosed,
    ProtocolError,
    SubscriptionConflict,
    UnknownSubscription,
)
from penstock.client.push.events import Delivered, Lost, Refreshed
from penstock.client.push.memberships import Membership, start_of
from penstock.client.push.message import Message, Published
from penstock.client.push.publications import UNANSWERED_MAX, Publication
from penstock.protocol.push import messages as wire
from penstock.protocol.push.data import AckData, AckRange, Verdict, data_frame, data_head, encode_item
from penstock.protocol.push.frames import FrameSplitter, FrameType
from penstock.protocol.push.values import Start, StartKind

REFUSED = b"too large"
MESSAGE_TOO_LARGE, OUT_OF_ORDER = 10, 45


class ModelBroker:
    """The rules of publishing as docs/formats/push-protocol.md has them, for one topic; answers wait to be sent."""

    def __init__(self) -> None:
        self.log: dict[int, list[bytes]] = {}
        self._known: dict[tuple[int, int], dict[int, int]] = {}  # partition and epoch: the last five sequences
        self.splitter = FrameSplitter()
        self.answers: list[bytes] = []
        self.unanswered_most = 0

    def feed(self, data: bytes) -> None:
        for frame in self.splitter.feed(data):
            value = wire.decode(frame)
            assert isinstance(value, wire.Publish)
            self.answers.append(wire.encode(self._store(value), frame.message_id))
        self.unanswered_most = max(self.unanswered_most, len(self.answers))

    def _store(self, value: wire.Publish) -> object:
        known = self._known.setdefault((value.partition, value.epoch), {})
        log = self.log.setdefault(value.partition, [])
        if value.sequence in known:
            return wire.PublishAck(value.partition, known[value.sequence], 7)
        if value.body == REFUSED:
            return wire.Error(MESSAGE_TOO_LARGE, "too large")
        if known and value.sequence != max(known) + 1:
            return wire.Error(OUT_OF_ORDER, "out of order")
        assert value.body is not None
        log.append(value.body)
        known[value.sequence] = len(log) - 1
        for old in sorted(known)[:-UNANSWERED_MAX]:
            del known[old]
        return wire.PublishAck(value.partition, len(log) - 1, 7)


class Rig:
    def __init__(self) -> None:
        self.core = ClientCore(client_id="me", epoch=1, heartbeat_interval_s=30)
        self.broker = ModelBroker()
        self.calls: list[tuple[bytes, int, Call]] = []
        self.core.connected(0.0)

    def publish(self, partition: int, body: bytes) -> Publication:
        call = Call(lambda: None)
        publication = Publication(topic="t", partition=partition, key=None, body=body, properties=(), call=call)
        self.calls.append((body, partition, call))
        self.core.publish(publication)
        return publication

    def send(self) -> None:
        self.broker.feed(self.core.data_to_send(0.0))

    def answer(self, count: int) -> None:
        taken, self.broker.answers = self.broker.answers[:count], self.broker.answers[count:]
        self.core.received(b"".join(taken), 0.0)

    def cut(self, share: float) -> None:
        """Of what the client sends now only a part arrives, and no answer comes."""
        data = self.core.data_to_send(0.0)
        self.broker.feed(data[: int(len(data) * share)])
        self.broker.splitter = FrameSplitter()
        self.broker.answers.clear()
        self.core.disconnected()

    def finish(self) -> None:
        if not self.core.is_connected:
            self.core.connected(0.0)
        while self.core.has_output or self.broker.answers:
            self.send()
            self.answer(len(self.broker.answers))


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("publish"), st.integers(0, 1)),
        st.tuples(st.just("refused"), st.integers(0, 1)),
        st.tuples(st.just("send"), st.just(0)),
        st.tuples(st.just("answer"), st.integers(1, 4)),
        st.tuples(st.just("cut"), st.floats(0, 1)),
        st.tuples(st.just("connect"), st.just(0)),
        st.tuples(st.just("give up"), st.integers(0, 30)),
    ),
    max_size=60,
)


@pytest.mark.feature("Q-01")
@settings(max_examples=200, deadline=None)
@given(STEPS)
def test_publications_are_stored_once_and_in_order(steps: list[tuple[str, float]]) -> None:
    rig, publications, withdrawn = Rig(), [], set()
    for number, (step, value) in enumerate(steps):
        match step:
            case "publish":
                publications.append(rig.publish(int(value), b"%d" % number))
            case "refused":
                publications.append(rig.publish(int(value), REFUSED))
            case "send" if rig.core.is_connected:
                rig.send()
            case "answer" if rig.core.is_connected:
                rig.answer(int(value))
            case "cut" if rig.core.is_connected:
                rig.cut(value)
            case "connect" if not rig.core.is_connected:
                rig.core.connected(0.0)
            case "give up" if publications:
                publication = publications[int(value) % len(publications)]
                if not publication.call.done:
                    rig.core.withdraw(publication.call, publication)
                    withdrawn.add(id(publication.call))
    rig.finish()
    stored = {partition: list(log) for partition, log in rig.broker.log.items()}
    for log in stored.values():
        assert len(set(log)) == len(log), "stored twice"
        assert log == sorted(log, key=int), "out of order"
    for body, partition, call in rig.calls:
        if id(call) in withdrawn:
            continue  # told that it may be stored or not
        assert call.done
        if body == REFUSED:
            assert isinstance(call.error, BrokerRefused)
        else:
            assert isinstance(call.value, Published), call.error
            assert stored[partition][call.value.offset] == body
    assert rig.broker.unanswered_most <= 2 * UNANSWERED_MAX


def test_a_publication_that_was_never_sent_can_be_withdrawn_for_certain() -> None:
    rig = Rig()
    publications = [rig.publish(0, b"%d" % number) for number in range(3)]
    assert not rig.core.withdraw(publications[0].call, publications[0])  # it is under way
    assert rig.core.withdraw(publications[2].call, publications[2])
    rig.finish()
    assert rig.broker.log[0] == [b"0", b"1"]


def test_a_broker_that_has_forgotten_the_publisher_gets_a_new_epoch() -> None:
    rig = Rig()
    for number in range(3):
        rig.publish(0, b"%d" % number)
        rig.finish()
    rig.broker._known = {(0, 1): {40: 0}}  # somebody restored another log
    rig.publish(0, b"lost")
    rig.finish()
    assert isinstance(rig.calls[-1][2].error, BrokerRefused)
    rig.publish(0, b"after")
    rig.finish()
    assert rig.calls[-1][2].value.offset == 3
    assert rig.broker._known[0, 2] == {0: 3}


# --- subscriptions -----------------------------------------------------------------------------------------------


def core_with_answers() -> ClientCore:
    core = ClientCore(client_id="me", epoch=1, heartbeat_interval_s=30)
    core.connected(0.0)
    return core


def sent(core: ClientCore) -> list[tuple[int, object]]:
    return [(frame.message_id, wire.decode(frame)) for frame in FrameSplitter().feed(core.data_to_send(0.0))]


def joined(core: ClientCore, name: str = "s") -> Membership:
    membership, call = Membership(target=None, name=name), Call(lambda: None)
    core.subscribe(membership, call)
    ((message_id, value),) = sent(core)
    assert isinstance(value, wire.Subscribe)
    core.received(wire.encode(wire.SubscribeAck(name, 100, 10), message_id), 0.0)
    assert call.done
    return membership


def data(*offsets: int, partition: int = 0, name: str = "s") -> bytes:
    items = [encode_item(partition, 1, b"k", offset, 5, b"a=1\0", b"body") for offset in offsets]
    return data_frame(data_head(name, "t"), items, 1)


def test_messages_of_one_read_are_delivered_together() -> None:
    core = core_with_answers()
    membership = joined(core)
    (event,) = core.received(data(0, 1) + data(2), 0.0)
    assert isinstance(event, Delivered)
    assert event.membership is membership
    assert [message.sequence_number for message in event.messages] == [0, 1, 2]
    message = event.messages[0]
    assert (message.topic, message.partition, message.key, message.body) == ("t", 0, b"k", b"body")
    assert (message.properties, message.timestamp, message.message_type) == ({"a": "1"}, 5, FrameType.DATA)


def test_acknowledgements_are_joined_to_ranges() -> None:
    core = core_with_answers()
    joined(core)
    (event,) = core.received(data(0, 1, 2, 5) + data(7, partition=1) + data(6, 9), 0.0)
    assert isinstance(event, Delivered)
    done = Acknowledgements()
    for message in event.messages:
        (done.not_done if message.sequence_number == 9 else done.done)(message)
    assert done.count == 7
    core.acknowledge("s", done)
    ((_, ack),) = sent(core)
    assert isinstance(ack, AckData)
    expected = {AckRange(0, 9, 9, Verdict.NOT_DONE), AckRange(0, 0, 2), AckRange(0, 5, 6), AckRange(1, 7, 7)}
    assert set(ack.ranges) == expected


def test_what_came_on_an_earlier_connection_is_not_acknowledged_on_the_next() -> None:
    core = core_with_answers()
    joined(core)
    (event,) = core.received(data(0), 0.0)
    assert isinstance(event, Delivered)
    core.disconnected()
    core.connected(1.0)
    ((_, again),) = sent(core)
    assert isinstance(again, wire.Subscribe)
    done = Acknowledgements()
    done.done(event.messages[0])
    core.acknowledge("s", done)
    assert sent(core) == []


def test_a_subscription_that_cannot_be_joined_again_is_lost_unless_the_reason_passes() -> None:
    core = core_with_answers()
    joined(core)
    core.disconnected()
    core.connected(1.0)
    ((message_id, _),) = sent(core)
    assert core.received(wire.encode(wire.Error(14, "loading"), message_id), 1.0) == []
    assert core.tick(2.0)
    ((message_id, again),) = sent(core)
    assert isinstance(again, wire.Subscribe)
    (event,) = core.received(wire.encode(wire.Error(69, "no such subscription"), message_id), 2.0)
    assert isinstance(event, Lost)
    assert isinstance(event.error, UnknownSubscription)
    assert not core.memberships


def test_requests_are_asked_again_on_the_next_connection() -> None:
    core = core_with_answers()
    calls = [Call(lambda: None) for _ in range(3)]
    core.request(wire.CreateTopic("t", 3), calls[0])
    core.request(wire.DeleteSubscription("gone"), calls[1])
    core.request(wire.Unsubscribe("s"), calls[2])
    core.data_to_send(0.0)
    core.disconnected()
    assert calls[2].done  # the end of the connection is the end of a membership
    core.connected(1.0)
    (first, create), (second, delete) = sent(core)
    assert (create, delete) == (wire.CreateTopic("t", 3), wire.DeleteSubscription("gone"))
    core.received(wire.encode(wire.CreateTopicAck(3, False), first), 1.0)
    core.received(wire.encode(wire.Error(69, "no such subscription"), second), 1.0)
    assert calls[0].result().partitions == 3
    assert calls[1].result() is None  # the first attempt has deleted it
    assert core.partition_counts == {"t": 3}


def test_refusals_have_types_and_the_text_of_the_broker() -> None:
    core = core_with_answers()
    call = Call(lambda: None)
    core.request(wire.CreateSubscription("s", "t"), call)
    ((message_id, _),) = sent(core)
    core.received(wire.encode(wire.Error(23, "s is a subscription of topic other"), message_id), 0.0)
    with pytest.raises(SubscriptionConflict, match="s is a subscription of topic other"):
        call.result()


def test_heartbeats_are_sent_in_silence_and_expected_of_the_broker() -> None:
    core = core_with_answers()
    assert core.tick(29.0)
    assert sent(core) == []
    assert core.tick(30.0)
    ((message_id, beat),) = sent(core)
    assert (message_id, beat) == (0, wire.Heartbeat())
    assert core.tick(89.9)
    assert not core.tick(90.0)


def test_a_reset_is_answered_when_the_broker_takes_it() -> None:
    core = core_with_answers()
    membership = joined(core)
    membership.is_ready_by_itself = True
    reset = wire.Reset("s", 4, (wire.TopicEnds("t", ((0, 2),)),))
    (event,) = core.received(wire.encode(reset, 9), 0.0)
    assert isinstance(event, Refreshed)
    for refuse in (True, False):
        core.tick(1.0)
        ((message_id, value),) = sent(core)
        assert value == wire.Ready("s", 4)
        answer = wire.Error(42, "not done") if refuse else wire.PlainAck(FrameType.READY)
        core.received(wire.encode(answer, message_id), 1.0)
    core.tick(2.0)
    assert sent(core) == []


def test_a_broker_that_does_not_want_a_frame_does_not_get_it_again() -> None:
    rig = Rig()
    rig.publish(0, b"huge")
    rig.core.data_to_send(0.0)
    with pytest.raises(ProtocolError, match="a frame has at most"):
        rig.core.received(wire.encode(wire.Error(42, "a frame has at most 5 bytes")), 0.0)
    rig.core.failed(ProtocolError("a frame has at most 5 bytes"), 2)
    rig.core.disconnected()
    assert isinstance(rig.calls[0][2].error, ProtocolError)
    rig.publish(0, b"small")
    rig.finish()
    assert rig.broker.log[0] == [b"small"]


def test_nobody_waits_for_a_client_that_has_gone() -> None:
    rig = Rig()
    rig.publish(0, b"one")
    request = Call(lambda: None)
    rig.core.request(wire.CreateTopic("t", 1), request)
    rig.core.close("bye")
    assert isinstance(rig.calls[0][2].error, ClientClosed)
    assert isinstance(request.error, ClientClosed)


def test_garbage_is_a_protocol_error() -> None:
    with pytest.raises(ProtocolError, match="does not speak the push protocol"):
        core_with_answers().received(b"HTTP/1.1 400 Bad Request\r\n\r\n", 0.0)


def test_starts() -> None:
    assert start_of(0) == start_of("earliest") == Start(StartKind.EARLIEST)
    assert start_of("latest") == Start(StartKind.LATEST)
    assert start_of(5) == Start(StartKind.OFFSET, 5)
    assert start_of(1.5) == Start(StartKind.TIME, 1500)
    for wrong in (-1, "yesterday", True):
        with pytest.raises(ValueError, match="start_offset"):
            start_of(wrong)


def test_keys_choose_partitions_as_kafka_does_and_others_take_turns() -> None:
    core = core_with_answers()
    core.partition_counts["t"] = 3
    assert core.choose_partition("t", b"21") == core.choose_partition("t", b"21")
    first, *others = [core.choose_partition("t", None) for _ in range(4)]
    assert others == [(first + 1) % 3, (first + 2) % 3, first]


def test_programs_that_publish_one_message_and_end_use_all_partitions() -> None:
    chosen = set()
    for epoch in range(100):
        core = ClientCore(client_id="shop", epoch=epoch, heartbeat_interval_s=30)
        core.partition_counts["t"] = 3
        chosen.add(core.choose_partition("t", None))
    assert chosen == {0, 1, 2}


def test_a_message_shows_properties_that_are_not_utf8() -> None:
    message = Message("s", "t", 1, 0, 1, None, 0, 0, b"a=\xff\0b\0", None)
    assert message.properties == {"a": "\udcff", "b": None}
    assert message.headers == ((b"a", b"\xff"), (b"b", None))
    assert message.text == ""
