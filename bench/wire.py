"""A raw client that costs next to nothing: frames are built once and sent again and again over a blocking socket."""

from __future__ import annotations

import io
import socket
import struct
import time
from typing import Any

from penstock.model.batch_builder import NewRecord, build_batch
from penstock.protocol.kafka.messages import encode, response_reader

PRODUCE_VERSION = 7
FETCH_VERSION = 11
_INT32 = struct.Struct(">i")


class Wire:
    """One connection."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._socket = socket.create_connection(address)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = bytearray(16 << 20)
        self._view = memoryview(self._buffer)

    def send(self, frame: bytes | memoryview) -> None:
        self._socket.sendall(frame)

    def receive(self) -> memoryview:
        """The next answer, without its size; valid until the next call."""
        self._fill(0, 4)
        (size,) = _INT32.unpack_from(self._buffer)
        if size > len(self._buffer):
            self._view.release()
            self._buffer = bytearray(size)
            self._view = memoryview(self._buffer)
        self._fill(0, size)
        return self._view[:size]

    def _fill(self, start: int, size: int) -> None:
        end = start + size
        while start < end:
            received = self._socket.recv_into(self._view[start:end])
            if not received:
                raise ConnectionError("the broker closed the connection")
            start += received

    def ask(self, api_key: int, version: int, entity: Any, *, flexible: bool) -> Any:
        self.send(frame(api_key, version, encode(entity), flexible=flexible))
        answer = bytes(self.receive())
        return response_reader(api_key, version)(answer, 5 if flexible else 4)[0]

    def close(self) -> None:
        self._socket.close()


def frame(api_key: int, version: int, body: bytes, *, flexible: bool = False) -> bytes:
    header = struct.pack(">hhih", api_key, version, 1, -1) + (b"\0" if flexible else b"")
    return _INT32.pack(len(header) + len(body)) + header + body


def produce_frame(topic: str, partition: int, messages: int, message_bytes: int) -> bytes:
    """Produce v7, acks=all, one batch."""
    batch = build_batch([NewRecord(None, bytes(message_bytes))] * messages, timestamp=time.time_ns() // 1_000_000)
    return produce_frame_of(topic, partition, bytes(batch))


def produce_frame_of(topic: str, partition: int, batch: bytes) -> bytes:
    name = topic.encode()
    body = io.BytesIO()
    body.write(struct.pack(">hhii", -1, -1, 30_000, 1))
    body.write(struct.pack(">h", len(name)) + name)
    body.write(struct.pack(">iii", 1, partition, len(batch)) + batch)
    return frame(0, PRODUCE_VERSION, body.getvalue())


def produce_error(answer: memoryview) -> int:
    """The error code of a one-partition Produce v7 answer."""
    (name_length,) = struct.unpack_from(">h", answer, 8)
    return int(struct.unpack_from(">h", answer, 8 + 2 + name_length + 4 + 4)[0])


def fetch_frame(topic: str, partition: int, offset: int, *, max_bytes: int, max_wait_ms: int, min_bytes: int) -> bytes:
    """Fetch v11 without a session."""
    name = topic.encode()
    body = struct.pack(">iiiibii", -1, max_wait_ms, min_bytes, max_bytes, 0, 0, -1)
    body += struct.pack(">ih", 1, len(name)) + name
    body += struct.pack(">iiiqqi", 1, partition, -1, offset, -1, max_bytes)
    body += struct.pack(">ih", 0, 0)
    return frame(1, FETCH_VERSION, body)


def fetched_records(answer: memoryview) -> memoryview:
    """The record data of a one-partition Fetch v11 answer."""
    position = 4 + 4 + 2 + 4 + 4
    (name_length,) = struct.unpack_from(">h", answer, position)
    position += 2 + name_length + 4
    position += 4 + 2 + 8 + 8 + 8  # index, error, watermarks, log start
    (aborted,) = struct.unpack_from(">i", answer, position)
    position += 4 + max(aborted, 0) * 16 + 4
    (size,) = struct.unpack_from(">i", answer, position)
    return answer[position + 4 : position + 4 + size]
