"""A minimal push client for tests of the door: one blocking socket, frame by frame.

It sends nothing by itself: no heartbeats, no acknowledgements.
"""

from __future__ import annotations

import socket
import ssl
import time
from collections import deque
from types import TracebackType
from typing import Any, TypeVar

from penstock.protocol.push import messages as m
from penstock.protocol.push.data import AckData, AckRange, Data, Item, Verdict
from penstock.protocol.push.frames import Frame, FrameSplitter, FrameType
from tests.support.waiting import wait_until

T = TypeVar("T")


class PushRefused(Exception):
    """The broker answered with an ERROR."""

    def __init__(self, error: m.Error) -> None:
        super().__init__(f"{error.code}: {error.message}")
        self.code = error.code
        self.message = error.message


class PushClient:
    def __init__(
        self,
        port: int,
        host: str = "127.0.0.1",
        timeout_s: float = 20.0,
        *,
        source: str = "",
        context: ssl.SSLContext | None = None,
    ) -> None:
        connected = wait_until(lambda: _connect(host, port, source), what=f"the push door at {port} is open")
        assert connected is not None
        self.socket: socket.socket = connected
        self.socket.settimeout(timeout_s)
        if context is not None:
            self.socket = context.wrap_socket(self.socket, server_hostname=host)
        self._splitter = FrameSplitter(1 << 30)
        self._frames: deque[Frame] = deque()
        self._set_aside: deque[Frame] = deque()
        self._next_id = 0

    def __enter__(self) -> PushClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self.socket.close()

    # --- out ---------------------------------------------------------------------------------------------------------

    def send(self, value: Any, message_id: int | None = None) -> int:
        if message_id is None:
            self._next_id += 1
            message_id = self._next_id
        self.socket.sendall(m.encode(value, message_id))
        return message_id

    def ask(self, value: Any) -> Any:
        """The answer to a request; PushRefused if it is an ERROR. Frames that come before it are kept for `receive`."""
        message_id = self.send(value)
        while True:
            frame = self.next_frame()
            if frame.message_id == message_id and frame.type in (FrameType.ACK, FrameType.ERROR):
                break
            self._set_aside.append(frame)
        self._frames.extendleft(reversed(self._set_aside))
        self._set_aside.clear()
        answer = m.decode(frame)
        if isinstance(answer, m.Error):
            raise PushRefused(answer)
        return answer

    def publish(self, topic: str, *bodies: bytes, **more: Any) -> list[int]:
        """Publish messages and return their offsets; without sequences unless they are given."""
        values: dict[str, Any] = {"client_id": "", "epoch": 0, "sequence": -1, "partition": 0, "key": None} | more
        return [self.ask(m.Publish(topic=topic, body=body, **values)).offset for body in bodies]

    def acknowledge(self, data: Data, verdict: Verdict = Verdict.DONE, *items: Item) -> None:
        ranges = tuple(AckRange(item.partition, item.offset, item.offset, verdict) for item in items or data.items)
        self.send(AckData(data.subscription, ranges))

    # --- in ----------------------------------------------------------------------------------------------------------

    def receive(self, timeout_s: float | None = None) -> Any:
        """The next frame except heartbeats. TimeoutError if none comes, ConnectionError if the broker has gone."""
        before = self.socket.gettimeout()
        if timeout_s is not None:
            self.socket.settimeout(timeout_s)
        try:
            while True:
                value = m.decode(self.next_frame())
                if not isinstance(value, m.Heartbeat):
                    return value
        finally:
            self.socket.settimeout(before)

    def data(self, timeout_s: float | None = None) -> Data:
        value = self.receive(timeout_s)
        assert isinstance(value, Data), value
        return value

    def items(self, count: int, *, acknowledge: bool = True) -> list[Item]:
        """A number of messages, from as many frames as needed."""
        found: list[Item] = []
        while len(found) < count:
            data = self.data()
            if acknowledge:
                self.acknowledge(data)
            found += data.items
        assert len(found) == count, found
        return found

    def is_silent(self, seconds: float = 0.3) -> bool:
        try:
            self.receive(seconds)
        except TimeoutError:
            return True
        return False

    def ends(self) -> list[Any]:
        """All frames until the broker closes the connection."""
        found = []
        while True:
            try:
                found.append(self.receive())
            except ConnectionError:
                return found

    def next_frame(self) -> Frame:
        while not self._frames:
            received = self.socket.recv(1 << 16)
            if not received:
                raise ConnectionError("the broker has closed the connection")
            self._frames.extend(self._splitter.feed(received))
        return self._frames.popleft()


def _connect(host: str, port: int, source: str) -> socket.socket | None:
    try:
        return socket.create_connection((host, port), timeout=5, source_address=(source, 0) if source else None)
    except ConnectionRefusedError:
        time.sleep(0.02)
        return None
