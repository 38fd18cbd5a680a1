"""A Kafka connection that hides nothing: one blocking socket, any API at any version, or raw bytes.

Requests are given as plain values (`connection.call("metadata", 12, topics=None)`); kio's schema of that
version turns them into bytes and the answer into kio's dataclass. Values for fields that a version does not
know are left out and missing ones are filled with the schema's default or zero, so that one call can be tried
at every version, and the same values with several APIs. Durations are milliseconds. Nothing here retries, follows
leaders or remembers anything but the correlation id.
"""

import dataclasses
import functools
import io
import socket
import ssl
import struct
import typing
from collections.abc import Mapping
from typing import Any, Self

from kio.index import load_request_schema, load_response_schema
from kio.schema.index import api_key_map
from kio.serial import entity_reader, entity_writer

from penstock.client.entities import build

API_KEYS: dict[str, int] = {name: key for key, name in api_key_map.items()}


class ConnectionClosed(Exception):
    """The broker closed the connection."""


@functools.cache
def request_schema(api: str, version: int) -> type[Any]:
    return load_request_schema(API_KEYS[api], version)


@functools.cache
def response_schema(api: str, version: int) -> type[Any]:
    return load_response_schema(API_KEYS[api], version)


def encode_body(api: str, version: int, values: Mapping[str, Any]) -> bytes:
    schema = request_schema(api, version)
    buffer = io.BytesIO()
    entity_writer(schema)(buffer, build(schema, own_values(schema, values)))
    return buffer.getvalue()


def own_values(schema: type[Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The values for fields of the schema, at any depth; `build` refuses those that no version of it has."""
    own: dict[str, Any] = {}
    for field in dataclasses.fields(schema):
        if field.name in values:
            value, nested = values[field.name], nested_schema(field.type)
            if nested is None or value is None:
                own[field.name] = value
            elif isinstance(value, Mapping):
                own[field.name] = own_values(nested, value)
            else:
                own[field.name] = [own_values(nested, item) for item in value]
    return own


def nested_schema(annotation: Any) -> type[Any] | None:
    if dataclasses.is_dataclass(annotation):
        return typing.cast(type[Any], annotation)
    return next((found for each in typing.get_args(annotation) if (found := nested_schema(each))), None)


def encode_header(
    api_key: int, version: int, correlation_id: int, *, client_id: str | None = "wire", flexible: bool = False
) -> bytes:
    """A request header written by hand, so that it can also name an API or a version that does not exist."""
    encoded = None if client_id is None else client_id.encode()
    name = struct.pack(">h", -1) if encoded is None else struct.pack(">h", len(encoded)) + encoded
    return struct.pack(">hhi", api_key, version, correlation_id) + name + (b"\x00" if flexible else b"")


def encode_request(
    api: str, version: int, correlation_id: int, values: Mapping[str, Any], *, client_id: str | None = "wire"
) -> bytes:
    """Header and body, without the length in front."""
    flexible = bool(request_schema(api, version).__flexible__)
    header = encode_header(API_KEYS[api], version, correlation_id, client_id=client_id, flexible=flexible)
    return header + encode_body(api, version, values)


def frame(payload: bytes) -> bytes:
    return struct.pack(">i", len(payload)) + payload


def decode_response(api: str, version: int, payload: bytes) -> tuple[int, Any]:
    """Correlation id and entity; every byte of the answer must have been used."""
    schema = response_schema(api, version)
    header, header_size = entity_reader(schema.__header_schema__)(payload, 0)
    entity, body_size = entity_reader(schema)(payload, header_size)
    assert header_size + body_size == len(payload), f"{len(payload) - header_size - body_size} bytes left over"
    return header.correlation_id, entity


class Connection:
    """One socket to a broker."""

    def __init__(
        self,
        host: str,
        port: int,
        *,
        timeout_s: float = 15.0,
        client_id: str | None = "wire",
        source: str = "",
        context: ssl.SSLContext | None = None,
    ) -> None:
        """`source`: the address to come from, such as another one of the loopback network."""
        from_source = (source, 0) if source else None
        self._socket = socket.create_connection((host, port), timeout=timeout_s, source_address=from_source)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if context is not None:
            self._socket = context.wrap_socket(self._socket, server_hostname=host)
        self._client_id = client_id
        self._correlation_id = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    def fileno(self) -> int:
        """For `select`."""
        return self._socket.fileno()

    def settimeout(self, timeout_s: float) -> None:
        self._socket.settimeout(timeout_s)

    def send_bytes(self, data: bytes) -> None:
        self._socket.sendall(data)

    def send(self, api: str, version: int, **values: Any) -> int:
        """Send without waiting; returns the correlation id."""
        self._correlation_id += 1
        payload = encode_request(api, version, self._correlation_id, values, client_id=self._client_id)
        self.send_bytes(frame(payload))
        return self._correlation_id

    def receive_frame(self) -> bytes:
        (length,) = struct.unpack(">i", self._receive_exactly(4))
        return self._receive_exactly(length)

    def receive(self, api: str, version: int) -> tuple[int, Any]:
        """The next answer on this connection, read as one of the given API: correlation id and entity."""
        return decode_response(api, version, self.receive_frame())

    def call(self, api: str, version: int, **values: Any) -> Any:
        """Send, wait, and return the decoded answer."""
        sent = self.send(api, version, **values)
        received, entity = self.receive(api, version)
        assert received == sent, f"answer {received} to request {sent}"
        return entity

    def closed_by_peer(self, *, within_s: float = 10.0) -> bool:
        """Whether the broker closes the connection without another byte."""
        self._socket.settimeout(within_s)
        try:
            return self._socket.recv(1) == b""
        except ConnectionError:
            return True
        except TimeoutError:
            return False

    def silent(self, *, for_s: float) -> bool:
        """Whether nothing arrives, neither bytes nor the end, for the given time."""
        self._socket.settimeout(for_s)
        try:
            self._socket.recv(1, socket.MSG_PEEK)
        except TimeoutError:
            return True
        return False

    def _receive_exactly(self, count: int) -> bytes:
        data = bytearray()
        while len(data) < count:
            try:
                chunk = self._socket.recv(min(count - len(data), 1 << 20))
            except ConnectionError as error:
                raise ConnectionClosed(str(error)) from error
            if not chunk:
                raise ConnectionClosed(f"after {len(data)} of {count} bytes")
            data += chunk
        return bytes(data)
