"""A message on its way into the log, and as it is read from there.

In the log it is a record like any other: key, body, headers and timestamp are the message's own. Where it comes from is
in one more header, the last, which is taken away when it is read:

    penstock.source   partition:4  offset:8   big-endian
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import NamedTuple

from crc32c import crc32c

from penstock.model.batch_builder import NewRecord
from penstock.model.record import Record

SOURCE_HEADER = "penstock.source"
_SOURCE = Struct(">iq")
_SHAPE = Struct(">qiii")
Headers = tuple[tuple[str, bytes | None], ...]


class Place(NamedTuple):
    """Place of a message at the broker, which identifies it for good."""

    partition: int
    offset: int


class Incoming(NamedTuple):
    """A message to be stored."""

    place: Place
    timestamp: int
    key: bytes | None
    body: bytes | None
    headers: Headers = ()

    @property
    def checksum(self) -> int:
        return content_checksum(self.timestamp, self.key, self.body, self.headers)

    @property
    def size_bytes(self) -> int:
        return 64 + len(self.key or b"") + len(self.body or b"") + sum(len(n) + len(v or b"") for n, v in self.headers)

    def record(self) -> NewRecord:
        source = (SOURCE_HEADER, _SOURCE.pack(*self.place))
        return NewRecord(self.key, self.body, (*self.headers, source), self.timestamp)


class Stored(NamedTuple):
    """A message at `offset` of this application's own log."""

    offset: int
    place: Place
    timestamp: int
    key: bytes | None
    body: bytes | None
    headers: Headers

    @property
    def checksum(self) -> int:
        return content_checksum(self.timestamp, self.key, self.body, self.headers)


class NotOurs(Exception):
    """A record in the log that this application did not write."""


def stored(record: Record) -> Stored:
    if not record.headers or record.headers[-1][0] != SOURCE_HEADER:
        raise NotOurs(f"the record at offset {record.offset} does not say where it comes from")
    source = record.headers[-1][1] or b""
    if len(source) != _SOURCE.size:
        raise NotOurs(f"the record at offset {record.offset} has a source of {len(source)} bytes")
    place = Place(*_SOURCE.unpack(source))
    return Stored(record.offset, place, record.timestamp, record.key, record.value, record.headers[:-1])


def content_checksum(timestamp: int, key: bytes | None, body: bytes | None, headers: Headers) -> int:
    """Checksum of a message's content: detects another message under the same source offset."""
    shape = _SHAPE.pack(timestamp, -1 if key is None else len(key), -1 if body is None else len(body), len(headers))
    checksum = crc32c(body or b"", crc32c(key or b"", crc32c(shape)))
    for name, value in headers:
        checksum = crc32c(name.encode("utf-8", "surrogateescape") + b"\0", checksum)
        checksum = crc32c(b"\0" if value is None else b"\1" + value, checksum)
    return checksum


def as_batches(messages: Iterable[Incoming], *, count_max: int, bytes_max: int) -> Iterable[list[Incoming]]:
    """Cut where a batch is full; a message that is larger by itself is a batch of its own."""
    batch: list[Incoming] = []
    size = 0
    for message in messages:
        if batch and (len(batch) >= count_max or size + message.size_bytes > bytes_max):
            yield batch
            batch, size = [], 0
        batch.append(message)
        size += message.size_bytes
    if batch:
        yield batch
