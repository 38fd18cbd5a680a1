"""A right that is denied stops the frame: every type of frame of a push client, right by right."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from penstock.protocol.push import messages as m
from penstock.protocol.push.frames import Frame, FrameSplitter, FrameType
from tests.gate.denials import REFUSALS, denials, refusal
from tests.gate.plants import ignore_refusals
from tests.gate.recorder import Recorder
from tests.gate.rights import PUSH
from tests.gate.test_push_gate import FRAMES, UNANSWERED
from tests.gate.world import GateNode, running_node

WRITES_LATER = ("RESET",)
"""Frames that are answered before everything they change is written: a refresh rewinds the offsets by itself."""


class Client:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._splitter = FrameSplitter()

    async def ask(self, frame: bytes, message_id: int) -> Frame:
        """The answer to a frame."""
        self._writer.write(frame)
        while True:
            data = await asyncio.wait_for(self._reader.read(65_536), 10)
            assert data, "the connection was closed"
            for answer in self._splitter.feed(data):
                if answer.message_id == message_id and answer.type is not FrameType.DATA:
                    return answer

    def send(self, frame: bytes) -> None:
        self._writer.write(frame)

    def close(self) -> None:
        self._writer.close()


async def written(node: GateNode, logs: object) -> None:
    """Return when the logs are no longer as they were."""
    async with asyncio.timeout(30):
        while node.logs() == logs:  # noqa: ASYNC110 - a state of another task
            await asyncio.sleep(0.01)


async def wrong(data_dir: Path) -> dict[str, object]:
    """Frames that were not stopped without one of their rights. With it, they are served."""
    recorder = Recorder()
    found: dict[str, object] = {}
    async with running_node(data_dir, recorder) as node:
        client = Client(*await asyncio.open_connection("127.0.0.1", node.push_port))
        for name, frame in FRAMES.items():
            message_id = 0 if name in UNANSWERED else 1
            for right in sorted(PUSH[name]):
                before = node.snapshot()
                recorder.denied = denials(name, right)
                try:
                    answer = m.decode(await client.ask(frame, message_id))
                except TimeoutError:
                    answer = None
                recorder.denied = set()
                if not isinstance(answer, m.Error) or answer.code != refusal(right) or node.snapshot() != before:
                    found[f"{name} {right[0].name} {right[1].name}"] = answer
            if name in UNANSWERED:
                client.send(frame)
                continue
            logs = node.logs()
            answer = m.decode(await client.ask(frame, message_id))
            assert not isinstance(answer, m.Error) or answer.code not in REFUSALS.values(), (name, answer)
            if name in WRITES_LATER:
                await written(node, logs)
        client.close()
    return found


def test_every_frame_is_stopped_without_a_right(tmp_path: Path) -> None:
    assert asyncio.run(wrong(tmp_path / "data")) == {}


def test_a_refusal_that_is_ignored_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ignore_refusals(monkeypatch, "penstock.broker.push.requests")
    assert "DELETE_SUBSCRIPTION DELETE GROUP" in asyncio.run(wrong(tmp_path / "data"))
