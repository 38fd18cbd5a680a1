"""Servers that are not brokers, or not good ones: silent, talking nonsense, hanging up, refusing frames."""

import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from penstock import BrokerClient
from penstock.client.push.errors import ProtocolError, RequestTimeout
from penstock.protocol.push import messages as wire
from penstock.protocol.push.frames import Frame, FrameSplitter, FrameType
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("Q-01")

Script = Callable[[socket.socket], None]


class OddServer:
    """Serves each connection with a function, in a thread of its own."""

    def __init__(self, script: Script) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listening.getsockname()[1])
        self.connections = 0
        self._script = script
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                accepted, _ = self._listening.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(accepted,), daemon=True).start()

    def _serve(self, accepted: socket.socket) -> None:
        with accepted:
            try:
                self._script(accepted)
            except OSError:
                pass

    def close(self) -> None:
        self._listening.close()


@pytest.fixture
def odd() -> Iterator[Callable[[Script], OddServer]]:
    servers: list[OddServer] = []

    def start(script: Script) -> OddServer:
        servers.append(OddServer(script))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def frames(accepted: socket.socket) -> Iterator[Frame]:
    splitter = FrameSplitter()
    while data := accepted.recv(65536):
        yield from splitter.feed(data)


def swallow(accepted: socket.socket) -> None:
    while accepted.recv(65536):
        pass


def test_a_silent_broker_is_left_after_three_intervals_and_tried_again(odd: Callable[[Script], OddServer]) -> None:
    beats: list[FrameType] = []

    def silent(accepted: socket.socket) -> None:
        beats.extend(frame.type for frame in frames(accepted))

    server = odd(silent)
    with BrokerClient("127.0.0.1", server.port, heartbeat_interval=0.2):
        wait_until(lambda: server.connections >= 2, what="another connection")
    assert FrameType.HEARTBEAT in beats


def test_a_broker_that_only_sends_heartbeats_is_alive(odd: Callable[[Script], OddServer]) -> None:
    beating = threading.Event()

    def beats(accepted: socket.socket) -> None:
        for _ in range(15):
            accepted.sendall(wire.encode(wire.Heartbeat()))
            time.sleep(0.2)  # the pace of the server is what is tested
        beating.set()
        swallow(accepted)

    server = odd(beats)
    with BrokerClient("127.0.0.1", server.port, heartbeat_interval=1.0, request_timeout=0.3) as client:
        with pytest.raises(RequestTimeout, match="it may have been carried out"):
            client.create_topic("t")
        assert beating.wait(10)
        assert server.connections == 1


def test_another_protocol_is_named_as_such(odd: Callable[[Script], OddServer]) -> None:
    def http(accepted: socket.socket) -> None:
        accepted.recv(100)
        accepted.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        swallow(accepted)

    server = odd(http)
    with BrokerClient("127.0.0.1", server.port) as client, pytest.raises(ProtocolError, match="push protocol"):
        client.create_topic("t")


def test_a_broker_that_hangs_up_is_tried_again_with_pauses(odd: Callable[[Script], OddServer]) -> None:
    server = odd(lambda accepted: None)
    with BrokerClient("127.0.0.1", server.port, request_timeout=1) as client:
        with pytest.raises(RequestTimeout):
            client.create_topic("t")
        assert 2 <= server.connections <= 8


def test_a_frame_that_is_refused_is_not_sent_again(odd: Callable[[Script], OddServer]) -> None:
    asked: list[FrameType] = []

    def strict(accepted: socket.socket) -> None:
        for frame in frames(accepted):
            asked.append(frame.type)
            value = wire.decode(frame)
            if isinstance(value, wire.CreateTopic):
                accepted.sendall(wire.encode(wire.CreateTopicAck(1, True), frame.message_id))
            elif isinstance(value, wire.Publish) and value.body == b"small":
                accepted.sendall(wire.encode(wire.PublishAck(0, value.sequence, 0), frame.message_id))
            elif isinstance(value, wire.Publish):
                accepted.sendall(wire.encode(wire.Error(10, "a frame has at most 5 bytes")))
                return

    server = odd(strict)
    with BrokerClient("127.0.0.1", server.port) as client:
        client.create_topic("t")
        with pytest.raises(ProtocolError, match="a frame has at most 5 bytes"):
            client.publish("t", b"much too large")
        assert client.publish("t", b"small").offset == 0
    assert asked.count(FrameType.PUBLISH) == 2


def test_an_answer_in_small_pieces_is_an_answer(odd: Callable[[Script], OddServer]) -> None:
    def slowly(accepted: socket.socket) -> None:
        for frame in frames(accepted):
            if frame.type is FrameType.CREATE_TOPIC:
                for byte in wire.encode(wire.CreateTopicAck(1, True), frame.message_id):
                    accepted.sendall(bytes([byte]))

    with BrokerClient("127.0.0.1", odd(slowly).port) as client:
        assert client.create_topic("t")


def test_disconnect_does_not_wait_for_a_broker_that_does_not_answer(odd: Callable[[Script], OddServer]) -> None:
    hold = threading.Event()

    def stuck(_: socket.socket) -> None:
        hold.wait(20)

    server = odd(stuck)
    client = BrokerClient("127.0.0.1", server.port)
    client.connect()
    started = time.monotonic()
    client.disconnect()
    assert time.monotonic() - started < 15, "it waits for as long as the server is stuck"
    client.connect()
    assert client.is_connected
    client.disconnect()
    hold.set()
