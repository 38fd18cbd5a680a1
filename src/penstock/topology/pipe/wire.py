"""The two binary bodies of the pipe: a child's request and its parent's answer (docs/formats/pipe.md).

Big-endian. Records are whole record batches as they lie in the parent's log; nothing here looks into them.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from struct import Struct
from typing import NamedTuple
from uuid import UUID

from penstock.model.batch import Buffer

MAGIC = b"PIPE"
VERSION = 1
REQUEST, ANSWER = 1, 2
PARTITIONS_MAX = 16_384
REASON_BYTES_MAX = 1_024

_REQUEST = Struct(">4sBBHqiiii")
_WANTED = Struct(">16siqqiqIi")
_ANSWER = Struct(">4sBBHqi")
_PULLED = Struct(">16sihHqqi")

REQUEST_BYTES_MAX = _REQUEST.size + PARTITIONS_MAX * _WANTED.size


class WireError(ValueError):
    """Bytes that are not a body of the pipe; the message says why."""


class LastBatch(NamedTuple):
    """The last batch of a child's log, for comparison with the parent's."""

    base_offset: int
    crc: int
    record_count: int


class Wanted(NamedTuple):
    """A partition that a child follows. `epoch` is that of its last record, -1 if it has none."""

    topic: bytes  # the 16 bytes of the topic's id
    partition: int
    offset: int
    log_start: int
    epoch: int = -1
    last: LastBatch | None = None


class PullRequest(NamedTuple):
    """A request, answered at once if a partition names its last batch; else when there is news, or after `wait_ms`."""

    topics_version: int
    wait_ms: int
    bytes_max: int
    batches_max: int
    partitions: Sequence[Wanted]


class Status(IntEnum):
    OK = 0
    UNKNOWN = 1
    """There is no such topic id, or no such partition."""
    BELOW_START = 2
    """The records from the wanted offset up to `log_start` are gone for good; a batch begins there."""
    DIVERGED = 3
    UNAVAILABLE = 4
    """The parent cannot read it at the moment."""
    BEHIND = 5
    """The parent, a child itself, is behind the child that asks."""


class Pulled(NamedTuple):
    topic: bytes
    partition: int
    status: Status
    log_start: int
    high_watermark: int
    records: Buffer = b""
    reason: str = ""


class PullAnswer(NamedTuple):
    topics_version: int
    partitions: Sequence[Pulled]


def encode_request(request: PullRequest) -> bytes:
    head = _REQUEST.pack(
        MAGIC, VERSION, REQUEST, 0, request.topics_version, request.wait_ms, request.bytes_max, request.batches_max,
        len(request.partitions),
    )  # fmt: skip
    parts = [head]
    for topic, partition, offset, log_start, epoch, last in request.partitions:
        base, crc, count = last if last is not None else (-1, 0, 0)
        parts.append(_WANTED.pack(topic, partition, offset, log_start, epoch, base, crc, count))
    return b"".join(parts)


def decode_request(body: Buffer) -> PullRequest:
    """Decode a request. WireError for anything that is not exactly one request within bounds."""
    if len(body) < _REQUEST.size:
        raise WireError(f"{len(body)} bytes are not a request")
    magic, version, kind, _, topics_version, wait_ms, bytes_max, batches_max, count = _REQUEST.unpack_from(body)
    _check_head(magic, version, kind, REQUEST)
    if not 0 <= count <= PARTITIONS_MAX or len(body) != _REQUEST.size + count * _WANTED.size:
        raise WireError(f"{count} partitions in {len(body)} bytes")
    if wait_ms < 0 or bytes_max < 1 or batches_max < 1:
        raise WireError(f"a wait of {wait_ms} ms, {bytes_max} bytes, {batches_max} batches")
    wanted: dict[tuple[bytes, int], Wanted] = {}
    for topic, partition, offset, log_start, epoch, *last in _WANTED.iter_unpack(memoryview(body)[_REQUEST.size :]):
        if offset < 0 or partition < 0:
            raise WireError(f"offset {offset} of partition {partition}")
        if (topic, partition) in wanted:
            raise WireError(f"partition {partition} of topic {UUID(bytes=topic)} twice")
        last_batch = LastBatch(*last) if last[0] >= 0 else None
        wanted[topic, partition] = Wanted(topic, partition, offset, log_start, epoch, last_batch)
    return PullRequest(topics_version, wait_ms, bytes_max, batches_max, list(wanted.values()))


def encode_answer(answer: PullAnswer) -> list[Buffer]:
    """The answer in pieces: records are not copied."""
    pieces: list[Buffer] = []
    heads = bytearray(_ANSWER.pack(MAGIC, VERSION, ANSWER, 0, answer.topics_version, len(answer.partitions)))
    for topic, partition, status, log_start, high_watermark, records, reason in answer.partitions:
        text = reason.encode()[:REASON_BYTES_MAX]
        heads += _PULLED.pack(topic, partition, status, len(text), log_start, high_watermark, len(records))
        heads += text
        if len(records):
            pieces += (heads, records)
            heads = bytearray()
    return [*pieces, heads] if heads else pieces


def decode_answer(body: Buffer) -> PullAnswer:
    """Decode an answer; records are views into `body`. WireError for anything that is not exactly one answer."""
    view = memoryview(body)
    size = len(view)
    if size < _ANSWER.size:
        raise WireError(f"{size} bytes are not an answer")
    magic, version, kind, _, topics_version, count = _ANSWER.unpack_from(view)
    _check_head(magic, version, kind, ANSWER)
    pulled = []
    position = _ANSWER.size
    for _ in range(count):
        if size - position < _PULLED.size:
            raise WireError(f"cut after {position} bytes")
        topic, partition, status, text_size, log_start, high_watermark, length = _PULLED.unpack_from(view, position)
        position += _PULLED.size
        if length < 0 or size - position < text_size + length:
            raise WireError(f"cut after {position} bytes")
        text = bytes(view[position : position + text_size]).decode(errors="replace")
        position += text_size
        records = view[position : position + length]
        position += length
        pulled.append(Pulled(topic, partition, _status(status), log_start, high_watermark, records, text))
    if position != size:
        raise WireError(f"{size - position} bytes after the answer")
    return PullAnswer(topics_version, pulled)


def _check_head(magic: bytes, version: int, kind: int, expected: int) -> None:
    if magic != MAGIC or kind != expected:
        raise WireError("not a body of the pipe")
    if version != VERSION:
        raise WireError(f"version {version} of the pipe, only {VERSION} is known")


def _status(value: int) -> Status:
    try:
        return Status(value)
    except ValueError:
        raise WireError(f"unknown status {value}") from None
