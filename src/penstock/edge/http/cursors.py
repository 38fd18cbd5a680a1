"""Cursors: the end of a page of messages as a text that callers hand back, with query, generation and position.

Two orders: `offset` is the log's own, `time` is that of the timestamps, in which keys and times can be asked for. Both
are fixed for what is stored: new messages come after, or, with an old timestamp, among those that were passed already.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import Literal

from penstock.edge.index import Moment

TIME_MAX = (1 << 63) - 1
TIME_MIN = -(1 << 63)
BEGINNING = Moment(TIME_MIN, -1)


class BadCursor(ValueError):
    """A text that is not a cursor of this application."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """A place in `generation`: the next page begins at `offset`, or after `after`."""

    generation: str
    order: Literal["offset", "time"]
    offset: int = 0
    after: Moment = BEGINNING
    before_ms: int = TIME_MAX
    key: bytes | None = None

    def text(self) -> str:
        key = None if self.key is None else base64.b64encode(self.key).decode()
        if self.order == "offset":
            values: list[object] = [1, self.generation, self.offset]
        else:
            values = [2, self.generation, *self.after, self.before_ms, key]
        document = json.dumps(values, separators=(",", ":"))
        return base64.urlsafe_b64encode(document.encode()).decode().rstrip("=")


def position_of(text: str) -> Position:
    try:
        padded = text + "=" * (-len(text) % 4)
        kind, generation, *values = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
        if kind == 1:
            (offset,) = values
            return Position(generation=str(generation), order="offset", offset=_offset(offset))
        if kind != 2:
            raise ValueError(kind)
        timestamp, offset, before_ms, key = values
        return Position(
            generation=str(generation),
            order="time",
            after=Moment(_number(timestamp), _number(offset)),
            before_ms=_number(before_ms),
            key=None if key is None else base64.b64decode(key, validate=True),
        )
    except (ValueError, TypeError, RecursionError) as error:
        raise BadCursor("this is not a cursor; take it from `cursor` of an answer, unchanged") from error


def _number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not TIME_MIN <= value <= TIME_MAX:
        raise ValueError(value)
    return value


def _offset(value: object) -> int:
    if _number(value) < 0:
        raise ValueError(value)
    return _number(value)
