"""A proxy in front of a broker that recognises requests, so that a test can act at exactly one step.

It listens on another loopback address under the broker's own port, which the broker must advertise.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from struct import Struct

_FRAME = Struct(">ihhi")  # length, api key, version, correlation id
_ANSWER = Struct(">ii")  # length, correlation id

PRODUCE, INIT_PRODUCER_ID, END_TXN = 0, 22, 26
ABOUT_BYTES = 400


@dataclass(frozen=True)
class Step:
    """The `nth` request of an API: before it reaches the broker, or after the broker has answered it.

    `about` is a text that it must have near its start, such as the name of a topic.
    """

    api_key: int
    nth: int = 1
    answered: bool = False
    about: bytes = b""


Action = Callable[[int], None]
"""What to do, given the port of the client whose request it is."""


class StepProxy:
    def __init__(self, host: str, broker: tuple[str, int]) -> None:
        self._broker = broker
        self._lock = threading.Lock()
        self._step: Step | None = None
        self._action: Action = lambda _: None
        self._seen = 0
        self._open: set[socket.socket] = set()
        self._shut = False
        self.happened = threading.Event()
        self._listener = socket.create_server((host, broker[1]))
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()
        self.cut()

    def at(self, step: Step, action: Action) -> None:
        """Call a function once, at this step, counted from now on. The bytes of that moment are not passed on."""
        with self._lock:
            self._step, self._action, self._seen = step, action, 0
            self.happened.clear()

    def disarm(self) -> None:
        with self._lock:
            self._step = None

    def cut(self, *, refuse: bool = False) -> None:
        """Cut every connection, and refuse new ones until `allow`."""
        with self._lock:
            self._shut = refuse
            connections, self._open = self._open, set()
        for each in connections:
            _close(each)

    def allow(self) -> None:
        with self._lock:
            self._shut = False

    def _accept(self) -> None:
        while True:
            try:
                client, (_, port) = self._listener.accept()
            except OSError:
                return
            try:
                if self._shut:
                    raise ConnectionRefusedError
                broker = socket.create_connection(self._broker, timeout=60)
            except OSError:
                client.close()
                continue
            with self._lock:
                self._open |= {client, broker}
            asked: dict[int, tuple[int, bytes]] = {}
            for source, target, is_request in ((client, broker, True), (broker, client, False)):
                passing = (source, target, is_request, asked, port)
                threading.Thread(target=self._pass, args=passing, daemon=True).start()

    def _pass(
        self,
        source: socket.socket,
        target: socket.socket,
        is_request: bool,
        asked: dict[int, tuple[int, bytes]],
        port: int,
    ) -> None:
        try:
            while True:
                head = _take(source, 4)
                body = _take(source, int.from_bytes(head, "big"))
                if is_request:
                    _, api_key, _, correlation_id = _FRAME.unpack_from(head + body)
                    about = body[:ABOUT_BYTES]
                    asked[correlation_id] = api_key, about
                else:
                    _, correlation_id = _ANSWER.unpack_from(head + body)
                    api_key, about = asked.pop(correlation_id, (-1, b""))
                if not self._is_step(api_key, about, not is_request, port):
                    target.sendall(head + body)
        except OSError:
            _close(source)
            _close(target)

    def _is_step(self, api_key: int, about: bytes, answered: bool, port: int) -> bool:
        with self._lock:
            step = self._step
            if step is None or (step.api_key, step.answered) != (api_key, answered) or step.about not in about:
                return False
            self._seen += 1
            if self._seen < step.nth:
                return False
            self._step = None
        self._action(port)
        self.happened.set()
        return True


def _take(source: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        piece = source.recv(min(1 << 20, size - len(data)))
        if not piece:
            raise ConnectionError
        data += piece
    return bytes(data)


def _close(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    connection.close()
