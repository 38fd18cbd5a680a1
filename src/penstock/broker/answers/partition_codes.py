"""Error codes by topic and partition, as several answers have them, encoded by hand and with turns for other requests.

    [topic string, [partition int32, error int16]]                               with tagged fields in flexible versions

A request over 100,000 partitions is small; an object for each of them in the answer is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from struct import Struct

from penstock.protocol.kafka.primitives import write_count, write_string
from penstock.runtime.turns import Turns

CodeOf = Callable[[str, int], int]

_PLAIN_ROW, _FLEXIBLE_ROW = Struct(">ih"), Struct(">ihx")  # the last byte: no tagged fields
_ROWS_PER_STEP = 500  # about a quarter of a millisecond


async def encode_codes(
    topics: Sequence[tuple[str, Sequence[int]]], code_of: CodeOf, turns: Turns, *, flexible: bool
) -> bytes:
    """The array of topics with their partitions, in the order in which they were asked for."""
    out = bytearray(write_count(len(topics), flexible))
    for topic, indexes in topics:
        out += write_string(topic, flexible) + write_count(len(indexes), flexible)
        for first in range(0, len(indexes), _ROWS_PER_STEP):
            out += _rows(topic, indexes[first : first + _ROWS_PER_STEP], code_of, flexible)
            await turns.pause()
        if flexible:
            out += b"\0"
    return bytes(out)


def _rows(topic: str, indexes: Iterable[int], code_of: CodeOf, flexible: bool) -> bytes:
    pack = _FLEXIBLE_ROW.pack if flexible else _PLAIN_ROW.pack
    return b"".join([pack(index, code_of(topic, index)) for index in indexes])
