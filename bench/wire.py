"""Frames that are built once and sent again and again, and connections that cost next to nothing."""

from __future__ import annotations

import contextlib
import datetime
import socket
import struct
import time
from collections.abc import Callable
from typing import Any

import kio.index
from kio.static.constants import EntityType

from penstock.model.batch_builder import NewRecord, build_batch
from penstock.protocol.kafka.messages import encode, response_reader

Address = tuple[str, int]

PRODUCE_VERSION = 7  # the last one whose answers have one size, error or not
PRODUCE_ROW_BYTES = 4 + 2 + 8 + 8 + 8  # index, error, offset, time, log start
FETCH_VERSION = 11
CREATE_TOPICS, CREATE_TOPICS_VERSION = 19, 4
API_VERSIONS = b"\0\0\0\x0a\0\x12\0\0\0\0\0\1\xff\xff"
TOPIC_ALREADY_EXISTS = 36
_INT32 = struct.Struct(">i")
WASTE = bytearray(1 << 20)


class Wire:
    """One connection, blocking."""

    def __init__(self, address: Address) -> None:
        self.socket = socket.create_connection(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, frame: bytes | bytearray | memoryview) -> None:
        self.socket.sendall(frame)

    def receive(self) -> bytearray:
        """The next answer, without its size."""
        (size,) = _INT32.unpack(self.take(4))
        return self.take(size)

    def take(self, size: int) -> bytearray:
        buffer = bytearray(size)
        view = memoryview(buffer)
        have = 0
        while have < size:
            received = self.socket.recv_into(view[have:], 0, socket.MSG_WAITALL)
            if not received:
                raise ConnectionError("the broker closed the connection")
            have += received
        return buffer

    def discard(self, size: int) -> None:
        """Throw the next bytes away: the kernel does (MSG_TRUNC), so that they are not copied."""
        while size:
            received = self.socket.recv_into(WASTE, min(size, len(WASTE)), socket.MSG_TRUNC)
            if not received:
                raise ConnectionError("the broker closed the connection")
            size -= received

    def receive_some(self, buffer: memoryview) -> int:
        """As many bytes as there are, at least one; 0 at the end."""
        return self.socket.recv_into(buffer)

    def ask(self, api_key: int, version: int, entity: Any) -> Any:
        """For the few requests that are not measured, none of them in a flexible version."""
        self.send(frame(api_key, version, encode(entity)))
        return response_reader(api_key, version)(bytes(self.receive()), 4)[0]

    def close(self) -> None:
        self.socket.close()


Connect = Callable[[Address], Wire]
"""Makes a connection: `Wire`, or one that is encrypted."""


def answers(address: Address, connect: Connect = Wire) -> bool:
    """Whether ApiVersions is answered."""
    with contextlib.suppress(OSError), connect(address) as wire:
        wire.socket.settimeout(5.0)
        wire.send(API_VERSIONS)
        return len(wire.receive()) > 6
    return False


def create_topic(
    address: Address,
    name: str,
    partitions: int = 1,
    configs: dict[str, str] | None = None,
    *,
    connect: Connect = Wire,
) -> None:
    """Made if it is not there yet, and ready to be written to: a message in each partition shows that."""
    module: Any = kio.index.load_payload_module(CREATE_TOPICS, CREATE_TOPICS_VERSION, EntityType.request)
    topic = module.CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=1,
        assignments=(),
        configs=tuple(module.CreatableTopicConfig(name=key, value=value) for key, value in (configs or {}).items()),
    )
    request = module.CreateTopicsRequest(topics=(topic,), timeout=datetime.timedelta(seconds=60), validate_only=False)
    with connect(address) as wire:
        code = wire.ask(CREATE_TOPICS, CREATE_TOPICS_VERSION, request).topics[0].error_code
        if code not in (0, TOPIC_ALREADY_EXISTS):
            raise RuntimeError(f"creating {name}: error {code}")
        if code != TOPIC_ALREADY_EXISTS:
            for first in range(0, partitions, 1000):
                _wait_until_writable(wire, name, range(first, min(first + 1000, partitions)))


def _wait_until_writable(wire: Wire, name: str, partitions: range) -> None:
    """Kafka answers CreateTopics before its partitions have leaders."""
    frame = produce_frame_of(name, dict.fromkeys(partitions, batch_of(1, 10)))
    first = error_at(name) - 4
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        wire.send(frame)
        answer = wire.receive()
        places = range(first, first + len(partitions) * PRODUCE_ROW_BYTES, PRODUCE_ROW_BYTES)
        if not any(answer[at] or answer[at + 1] for at in places):
            return
        time.sleep(0.05)
    raise RuntimeError(f"{name} cannot be written to")


def frame(api_key: int, version: int, body: bytes) -> bytes:
    header = struct.pack(">hhih", api_key, version, 1, -1)
    return _INT32.pack(len(header) + len(body)) + header + body


def batch_of(messages: int, message_bytes: int) -> bytes:
    return bytes(build_batch([NewRecord(None, bytes(message_bytes))] * messages, timestamp=time.time_ns() // 1_000_000))


def produce_frame(topic: str, partition: int, messages: int, message_bytes: int) -> bytes:
    """Produce with acks=all, one batch for one partition."""
    return produce_frame_of(topic, {partition: batch_of(messages, message_bytes)})


def produce_frame_of(topic: str, batches: dict[int, bytes]) -> bytes:
    name = topic.encode()
    body = struct.pack(">hhiih", -1, -1, 30_000, 1, len(name)) + name + _INT32.pack(len(batches))
    rows = [struct.pack(">ii", partition, len(batch)) + batch for partition, batch in batches.items()]
    return frame(0, PRODUCE_VERSION, body + b"".join(rows))


def error_at(topic: str) -> int:
    """Where the error code of a one-partition Produce answer is, its size included in what is counted."""
    return 4 + 4 + 4 + 2 + len(topic) + 4 + 4


def produce_answer_bytes(topic: str, partitions: int = 1) -> int:
    """Size of a Produce answer, its own size field included."""
    return 4 + 4 + 4 + 2 + len(topic) + 4 + partitions * PRODUCE_ROW_BYTES + 4


def fetch_frame(topic: str, partition: int, offset: int, *, max_bytes: int, max_wait_ms: int, min_bytes: int) -> bytes:
    """Fetch without a session."""
    name = topic.encode()
    body = struct.pack(">iiiibii", -1, max_wait_ms, min_bytes, max_bytes, 0, 0, -1)
    body += struct.pack(">ih", 1, len(name)) + name
    body += struct.pack(">iiiqqi", 1, partition, -1, offset, -1, max_bytes)
    body += struct.pack(">ih", 0, 0)
    return frame(1, FETCH_VERSION, body)


def fetch_answer_head_bytes(topic: str) -> int:
    """Bytes of a one-partition Fetch answer before its records, its size field included."""
    return 4 + 4 + 4 + 2 + 4 + 4 + 2 + len(topic) + 4 + (4 + 2 + 8 + 8 + 8) + 4 + 4 + 4
