"""Every frame of a push client passes the gate, on the push port and behind the Kafka port."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from penstock.broker.push.connection import AT_ONCE, CHECKED_ONLY
from penstock.broker.push.requests import SERVED
from penstock.protocol.push import messages as m
from penstock.protocol.push.data import AckData, encode_ack_data
from penstock.protocol.push.frames import FrameSplitter, FrameType, encode_frame
from penstock.protocol.push.states import TABLE, Side, State
from tests.gate.recorder import Asked, Recorder
from tests.gate.rights import PUSH
from tests.gate.world import SUBSCRIPTION, TOPIC, running_node

FRAMES: dict[str, bytes] = {
    "AUTHENTICATE": m.encode(m.Authenticate("PLAIN", b"\0a\0b"), 1),
    "CREATE_TOPIC": m.encode(m.CreateTopic(TOPIC, 1), 1),
    "PUBLISH": m.encode(m.Publish("c", 0, m.NO_SEQUENCE, TOPIC, 0, None, b"x"), 1),
    "CREATE_SUBSCRIPTION": m.encode(m.CreateSubscription(SUBSCRIPTION, TOPIC), 1),
    "SUBSCRIBE": m.encode(m.Subscribe(SUBSCRIPTION), 1),
    "COMMIT_OFFSET": m.encode(m.CommitOffset(SUBSCRIPTION, 0, 0), 1),
    "ACK": encode_frame(FrameType.ACK, 0, encode_ack_data(AckData(SUBSCRIPTION, ()))),
    "RESET": m.encode(m.Reset(SUBSCRIPTION, m.ASKED_REFRESH, ()), 1),
    "READY": m.encode(m.Ready(SUBSCRIPTION, 1), 1),
    "HEARTBEAT": m.encode(m.Heartbeat()),
    "ERROR": m.encode(m.Error(1, "x"), 1),
    "UNSUBSCRIBE": m.encode(m.Unsubscribe(SUBSCRIPTION), 1),
    "DELETE_SUBSCRIPTION": m.encode(m.DeleteSubscription(SUBSCRIPTION), 1),
    "DISCONNECT": m.encode(m.Disconnect("done")),
}
UNANSWERED = ("ACK", "HEARTBEAT", "ERROR", "DISCONNECT")


async def send_everything(data_dir: Path, *, kafka_port: bool) -> dict[str, tuple[list[str], set[Asked]]]:
    recorder, found = Recorder(), {}
    async with running_node(data_dir, recorder) as node:
        reader, writer = await asyncio.open_connection("127.0.0.1", node.kafka_port if kafka_port else node.push_port)
        splitter = FrameSplitter()
        for name, frame in FRAMES.items():
            recorder.take()
            writer.write(frame)
            answered = name in UNANSWERED
            while not answered:
                data = await asyncio.wait_for(reader.read(65_536), 10)
                assert data, f"the connection was closed after {name}"
                answered = any(frame.message_id == 1 for frame in splitter.feed(data))
            for _ in range(200):
                if recorder.admitted:
                    break
                await asyncio.sleep(0.01)
            found[name] = recorder.take()
        assert "PUSH" in {session.listener for session in recorder.authenticated}
        writer.close()
    return found


def test_every_type_of_a_client_has_a_row_in_the_table() -> None:
    types = {event[1] for (_, event) in TABLE if event[0] is Side.CLIENT and isinstance(event[1], FrameType)}
    assert State.OPEN in {state for state, _ in TABLE}
    assert {frame_type.name for frame_type in types} == set(PUSH) == set(FRAMES)


def test_every_type_of_a_client_is_served_in_exactly_one_way() -> None:
    types = {event[1] for (_, event) in TABLE if event[0] is Side.CLIENT and isinstance(event[1], FrameType)}
    assert Counter(types) == Counter(SERVED) + Counter(AT_ONCE) + Counter(CHECKED_ONLY)


@pytest.mark.parametrize("kafka_port", [False, True])
def test_every_frame_is_admitted_and_asks_for_its_rights(tmp_path: Path, kafka_port: bool) -> None:
    found = asyncio.run(send_everything(tmp_path / "data", kafka_port=kafka_port))
    assert {name: each for name, each in found.items() if each != ([name], PUSH[name])} == {}
