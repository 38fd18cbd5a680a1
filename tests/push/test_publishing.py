"""PUBLISH over the wire of a real broker: on disk before the answer, and each message once."""

from __future__ import annotations

import pytest

from penstock.model.errors import ErrorCode
from penstock.protocol.push import messages as m
from tests.push.conftest import Connect
from tests.support.penstock_process import PenstockProcess
from tests.support.push_client import PushClient, PushRefused

pytestmark = pytest.mark.feature("Q-04", "Q-05", "P-07")


def message(topic: str, sequence: int, *, epoch: int = 1, client_id: str = "writer", partition: int = 0) -> m.Publish:
    return m.Publish(client_id, epoch, sequence, topic, partition, None, str(sequence).encode())


def test_what_is_sent_again_gets_its_first_offset(client: PushClient, connect: Connect, topic: str) -> None:
    first = [client.ask(message(topic, sequence)) for sequence in range(7)]
    assert [ack.offset for ack in first] == list(range(7))
    again = connect()
    for sequence in (6, 5, 4, 3):
        assert again.ask(message(topic, sequence)).offset == sequence
    with pytest.raises(PushRefused, match="not known any more") as refused:
        again.ask(message(topic, 0))
    assert refused.value.code == ErrorCode.DUPLICATE_SEQUENCE_NUMBER
    assert again.ask(message(topic, 7)).offset == 7


def test_messages_that_come_together_are_answered_each(client: PushClient, topic: str) -> None:
    frames = b"".join(m.encode(message(topic, sequence), 100 + sequence) for sequence in range(50))
    client.socket.sendall(frames)
    assert [client.receive().offset for _ in range(50)] == list(range(50))
    client.socket.sendall(b"".join(m.encode(message(topic, sequence), sequence) for sequence in range(45, 52)))
    answers = [client.receive() for _ in range(7)]
    assert sorted(answer.offset for answer in answers) == list(range(45, 52))


def test_a_gap_an_old_epoch_and_no_client_id_are_refused(client: PushClient, topic: str) -> None:
    client.ask(message(topic, 0, epoch=5))
    client.ask(m.CreateSubscription("makes-the-offsets-topic", topic))
    for publish, code in (
        (message(topic, 2, epoch=5), ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
        (message(topic, 1, epoch=4), ErrorCode.INVALID_PRODUCER_EPOCH),
        (message(topic, 0, client_id=""), ErrorCode.INVALID_REQUEST),
        (message(topic, 1, epoch=5, partition=-1), ErrorCode.INVALID_REQUEST),
        (message(topic, 0, epoch=5, partition=7), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (message("no-such-topic", 0, epoch=5), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (message("__consumer_offsets", 0, epoch=5), ErrorCode.INVALID_TOPIC_EXCEPTION),
    ):
        with pytest.raises(PushRefused) as refused:
            client.ask(publish)
        assert refused.value.code == code, publish
    assert client.ask(message(topic, 1, epoch=5)).offset == 1


def test_a_larger_epoch_begins_at_0(client: PushClient, topic: str) -> None:
    client.ask(message(topic, 0, client_id="reborn"))
    assert client.ask(message(topic, 0, client_id="reborn", epoch=2)).offset == 1


def test_a_partition_is_chosen_by_key_or_in_turn(client: PushClient, topic: str) -> None:
    wide = f"{topic}-wide"
    client.ask(m.CreateTopic(wide, 4))
    chosen = [client.ask(m.Publish("", 0, -1, wide, -1, b"same", b"x")).partition for _ in range(5)]
    assert len(set(chosen)) == 1
    in_turn = [client.ask(m.Publish("", 0, -1, wide, -1, None, b"x")).partition for _ in range(8)]
    assert sorted(in_turn) == [0, 0, 1, 1, 2, 2, 3, 3]


def test_a_message_that_is_too_large_is_refused_and_the_next_one_taken(client: PushClient, topic: str) -> None:
    with pytest.raises(PushRefused, match=r"max\.message\.bytes"):
        client.ask(m.Publish("writer", 9, 0, topic, 0, None, bytes(2_000_000)))
    assert client.ask(m.Publish("writer", 9, 0, topic, 0, None, b"small")).offset == 0


def test_the_kafka_port_takes_push_clients_too(node: PenstockProcess, topic: str) -> None:
    with PushClient(node.port) as client:
        assert client.publish(topic, b"x") == [0]
        client.ask(m.Subscribe("", topic, "by-kafka-port"))
        assert client.data().items[0].body == b"x"
    with PushClient(node.port) as slow:  # byte by byte: the first one decides
        for byte in m.encode(m.CreateTopic(topic, 0), 1):
            slow.socket.sendall(bytes([byte]))
        assert slow.receive() == m.CreateTopicAck(1, False)
