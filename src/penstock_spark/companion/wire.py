"""Calls and answers between Spark's JVM and its companion, over the companion's standard input and output.

    number int64 | header length int32 | header JSON | count of parts int32 | (part length int32 | part)*

Numbers are big-endian. An answer has the number of its call. The header of a call has its name in `call`; that of an
answer to a call that failed has `error`. Parts are bytes that are not for JSON.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from typing import IO, Any, NamedTuple

VERSION = 3
"""Of this form and of the calls; `Companion.java` has the same."""

_INT, _NUMBER = struct.Struct(">i"), struct.Struct(">q")


class Frame(NamedTuple):
    number: int
    header: dict[str, Any]
    parts: Sequence[bytes] = ()


def read_frame(stream: IO[bytes]) -> Frame | None:
    """The next frame; None at the end, also if that comes within a frame."""
    try:
        (number,) = _NUMBER.unpack(_exactly(stream, _NUMBER.size))
        header = json.loads(_exactly(stream, _int(stream)))
        return Frame(number, header, [_exactly(stream, _int(stream)) for _ in range(_int(stream))])
    except EOFError:
        return None


def write_frame(stream: IO[bytes], frame: Frame) -> None:
    header = json.dumps(frame.header).encode()
    stream.write(_NUMBER.pack(frame.number) + _INT.pack(len(header)) + header + _INT.pack(len(frame.parts)))
    for part in frame.parts:
        stream.write(_INT.pack(len(part)))
        stream.write(part)
    stream.flush()


def _int(stream: IO[bytes]) -> int:
    value: int = _INT.unpack(_exactly(stream, _INT.size))[0]
    return value


def _exactly(stream: IO[bytes], size: int) -> bytes:
    found = stream.read(size)
    if len(found) < size:
        raise EOFError
    return found
