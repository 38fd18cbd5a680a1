"""A position as it is stored with a committed offset: the ranges above it that are done, and of which refresh it is.

The text is the metadata of the offset in `__consumer_offsets`: `push1 REFRESH FIRST+LENGTH FIRST+LENGTH …`, where
FIRST counts from the end of the range before it, and the first one from the committed offset.
"""

from __future__ import annotations

from typing import NamedTuple

_MARK = "push1"


class Range(NamedTuple):
    """Both ends included."""

    first: int
    last: int


class Position(NamedTuple):
    """`offset` is the lowest that is not done; `done` are ranges above it, rising and apart from each other."""

    offset: int
    done: tuple[Range, ...] = ()


def encode_position(position: Position, refresh_id: int) -> str:
    parts = [_MARK, str(refresh_id)]
    after = position.offset
    for first, last in position.done:
        parts.append(f"{first - after}+{last - first + 1}")
        after = last + 1
    return " ".join(parts)


def decode_position(offset: int, metadata: str) -> tuple[Position, int]:
    """The position, and the refresh it belongs to (0: none). What somebody else has committed is an offset alone."""
    mark, _, rest = metadata.partition(" ")
    if mark != _MARK:
        return Position(offset), 0
    try:
        refresh_text, *range_texts = rest.split(" ")
        refresh_id = int(refresh_text)
        done, after = [], offset
        for text in range_texts:
            gap, length = (int(number) for number in text.split("+"))
            if gap < 0 or length < 1:
                raise ValueError
            done.append(Range(after + gap, after + gap + length - 1))
            after += gap + length
    except ValueError:
        return Position(offset), 0
    return Position(offset, tuple(done)), refresh_id


def is_position_text(metadata: str) -> bool:
    """Whether this is a text of ours, which no client needs to see."""
    return metadata.startswith(_MARK + " ")
