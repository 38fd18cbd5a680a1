"""A scripted broker for the push protocol: it sends the frames that a test gives it, and records those that arrive.

It is for situations that a real broker produces only at moments that no test can choose.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Sequence
from typing import Any

from penstock.protocol.push import messages as wire
from penstock.protocol.push.data import AckData, data_frame, data_head, encode_item
from penstock.protocol.push.frames import FrameSplitter, FrameType

Item = tuple[int, int, bytes | None, bytes | None]
"""Partition, offset, key, body."""


class FakePushBroker:
    """Serves one client after the other, between construction and `close`. `greeting` is sent to each subscriber."""

    def __init__(self, topic: str = "price-topic", group: str = "price-group") -> None:
        self.received: list[Any] = []
        self.acknowledged: set[tuple[int, int]] = set()
        self.greeting: list[bytes] = []
        self._head = data_head(group, topic)
        self._group, self._topic = group, topic
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._connection: socket.socket | None = None
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        if self._connection is not None:
            self._connection.close()
        self._thread.join(10)

    def data(self, items: Sequence[Item]) -> bytes:
        encoded = [
            encode_item(partition, 1, key, offset, 1_000 + offset, b"from=fake\0", body)
            for partition, offset, key, body in items
        ]
        return data_frame(self._head, encoded, 1)

    def reset(self, refresh_id: int, ends: dict[int, int]) -> bytes:
        topics = (wire.TopicEnds(self._topic, tuple(ends.items())),)
        return wire.encode(wire.Reset(self._group, refresh_id, topics))

    def send(self, frame: bytes) -> None:
        """Send frames to the connected client."""
        assert self._connection is not None
        self._connection.sendall(frame)

    def has_received(self, kind: type) -> bool:
        return any(isinstance(value, kind) for value in self.received)

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            self._connection = connection
            splitter = FrameSplitter()
            try:
                while data := connection.recv(1 << 16):
                    for frame in splitter.feed(data):
                        self._handle(connection, frame.message_id, wire.decode(frame))
            except OSError:
                pass
            connection.close()

    def _handle(self, connection: socket.socket, message_id: int, value: Any) -> None:
        self.received.append(value)
        if isinstance(value, AckData):
            for partition, first, last, _ in value.ranges:
                self.acknowledged |= {(partition, offset) for offset in range(first, last + 1)}
        answer: Any = None
        if isinstance(value, wire.Subscribe):
            answer = wire.SubscribeAck(self._group, value.credit, 10)
        elif isinstance(value, wire.Ready):
            answer = wire.PlainAck(FrameType.READY)
        elif isinstance(value, wire.Reset):
            answer = wire.PlainAck(FrameType.RESET)
        elif isinstance(value, wire.CreateTopic):
            answer = wire.CreateTopicAck(1, False)
        elif isinstance(value, wire.Publish):
            answer = wire.PublishAck(0, 0, 0)
        if answer is not None:
            connection.sendall(wire.encode(answer, message_id))
        if isinstance(value, wire.Subscribe):
            connection.sendall(b"".join(self.greeting))
