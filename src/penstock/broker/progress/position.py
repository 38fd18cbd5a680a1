"""Position of a subscription in a partition, as it is stored with a committed offset: the ranges above it that are
done, the delivery counts of messages that were sent and not done, and the refresh that it belongs to.

The text is the metadata of the offset in `__consumer_offsets` (docs/formats/consumer-offsets.md):

    push1 REFRESH FIRST+LENGTH FIRST+LENGTH …
    push2 REFRESH FIRST+LENGTH … / FIRST+LENGTH*COUNT …

FIRST counts from the end of the range before it in the same list, and the first one from the committed offset. The
second form is written where there are counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

_PLAIN, _COUNTED = "push1", "push2"
COUNTED_MAX = 500
"""Ranges of messages with a delivery count that are stored; if there are more, those with the highest counts."""


class Range(NamedTuple):
    """A range of offsets, both ends included."""

    first: int
    last: int


class Counted(NamedTuple):
    """Messages that were sent `deliveries` times and are not done. Both ends included."""

    first: int
    last: int
    deliveries: int


class Position(NamedTuple):
    """The progress in a partition: `offset` is the lowest that is not done, `done` are ranges above it, `counted`
    ranges from it on. Ranges are in ascending order and do not touch.
    """

    offset: int
    done: tuple[Range, ...] = ()
    counted: tuple[Counted, ...] = ()


def encode_position(position: Position, refresh_id: int) -> str:
    parts = [_COUNTED if position.counted else _PLAIN, str(refresh_id)]
    after = position.offset
    for first, last in position.done:
        parts.append(f"{first - after}+{last - first + 1}")
        after = last + 1
    if position.counted:
        parts.append("/")
    after = position.offset
    for first, last, count in position.counted:
        parts.append(f"{first - after}+{last - first + 1}*{count}")
        after = last + 1
    return " ".join(parts)


def decode_position(offset: int, metadata: str) -> tuple[Position, int]:
    """The position, and the refresh it belongs to (0: none). Metadata of another writer add nothing to the offset."""
    if not is_position_text(metadata):
        return Position(offset), 0
    try:
        refresh_text, *parts = metadata.split(" ")[1:]
        middle = parts.index("/") if "/" in parts else len(parts)
        done = tuple(_ranges(offset, parts[:middle]))
        counted = tuple(_counted(offset, parts[middle + 1 :]))
        return Position(offset, done, counted), int(refresh_text)
    except ValueError:
        return Position(offset), 0


def _ranges(after: int, texts: Iterable[str]) -> Iterable[Range]:
    for text in texts:
        gap, length = (int(number) for number in text.split("+"))
        if gap < 0 or length < 1:
            raise ValueError(text)
        yield Range(after + gap, after + gap + length - 1)
        after += gap + length


def _counted(after: int, texts: Iterable[str]) -> Iterable[Counted]:
    pairs = [text.split("*") for text in texts]
    counts = [int(count) for _, count in pairs]
    for (first, last), count in zip(_ranges(after, [text for text, _ in pairs]), counts, strict=True):
        if count < 1:
            raise ValueError(count)
        yield Counted(first, last, count)


def is_position_text(metadata: str) -> bool:
    """Whether metadata are a position, which clients need not see."""
    return metadata.startswith((_PLAIN + " ", _COUNTED + " "))
