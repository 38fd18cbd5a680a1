"""Lines of CSV as typed columns: each value is one line, its fields are found by their place.

As in RFC 4180, a field that begins with a quote ends with one, and a quote in it is doubled. An empty field is null,
`""` is an empty string. Spaces belong to the field.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pyspark.sql.types import StructType

from penstock_spark.arrays import Bytes, Flags, Ints
from penstock_spark.compiled import compiled
from penstock_spark.errors import BadOption
from penstock_spark.reading.values.decoder import Decoder
from penstock_spark.reading.values.scalars import CSV, decode_scalar
from penstock_spark.reading.values.spans import DOUBLED, NULL, TEXT, Decoded, Spans

RIGHT, EMPTY, BROKEN, TOO_FEW, TOO_MANY = range(5)


@compiled
def _field(data: Bytes, at: int, end: int, separator: int) -> tuple[int, int, int, int]:
    """Find a field: (start, end, kind, position behind it); the position is -1 if it is malformed."""
    if at < end and data[at] == 34:
        start, kind = at + 1, TEXT
        at += 1
        while at < end:
            if data[at] == 34:
                if at + 1 < end and data[at + 1] == 34:
                    kind = DOUBLED
                    at += 1
                else:
                    is_last = at + 1 == end or data[at + 1] == separator
                    return start, at, kind, at + 1 if is_last else -1
            at += 1
        return start, at, kind, -1
    start = at
    while at < end and data[at] != separator:
        at += 1
    return start, at, TEXT if at > start else NULL, at


@compiled
def scan_lines(
    data: Bytes, starts: Ints, ends: Ints, valid: Flags, separator: int,
    field_starts: Ints, field_ends: Ints, field_kinds: Bytes, problems: Ints,
) -> None:  # fmt: skip
    count = len(field_starts)
    for row in range(len(starts)):
        problems[row] = RIGHT
        if not valid[row]:
            continue
        at, end = starts[row], ends[row]
        while end > at and (data[end - 1] == 10 or data[end - 1] == 13):
            end -= 1
        if at == end and count != 1:
            problems[row] = EMPTY
            continue
        field = 0
        while True:
            start, stop, kind, at = _field(data, at, end, separator)
            if at < 0:
                problems[row] = BROKEN
                break
            if field == count:
                problems[row] = TOO_MANY
                break
            field_starts[field, row], field_ends[field, row], field_kinds[field, row] = start, stop, kind
            field += 1
            if at >= end:
                if field < count:
                    problems[row] = TOO_FEW
                break
            at += 1
        if problems[row] != RIGHT:
            field_kinds[:, row] = NULL


@compiled
def _count_fields(data: Bytes, starts: Ints, ends: Ints, valid: Flags, separator: int, counts: Ints) -> None:
    for row in range(len(starts)):
        at, end = starts[row], ends[row]
        while end > at and (data[end - 1] == 10 or data[end - 1] == 13):
            end -= 1
        counts[row] = 0
        while valid[row] and end > starts[row]:
            _, _, _, at = _field(data, at, end, separator)
            if at < 0:
                counts[row] = 0
                break
            counts[row] += 1
            if at >= end:
                break
            at += 1


class CsvDecoder(Decoder):
    """A decoder of CSV. `fields` are those of a line; only some of them may be wanted."""

    format = "csv"
    problem_texts = (
        "the value is empty",
        "a quote of the value is not closed, or text follows it",
        "the value has too few fields",
        "the value has too many fields",
    )

    def __init__(self, fields: StructType, wanted: StructType, separator: str) -> None:
        super().__init__(wanted)
        self._count = len(fields)
        self._places = [fields.names.index(name) for name in wanted.names]
        self._separator = parse_separator(separator)

    def _columns(self, data: Bytes, starts: Ints, ends: Ints, valid: Flags, problems: Ints) -> Sequence[Decoded]:
        spans = split_lines(data, starts, ends, valid, self._separator, self._count, problems)
        return [
            decode_scalar(spans[place], kind, CSV) for place, kind in zip(self._places, self.schema.types, strict=True)
        ]


def field_counts(data: Bytes, starts: Ints, ends: Ints, valid: Flags, separator: int) -> Ints:
    """The number of fields of each line; 0 for one that is empty or malformed."""
    counts = np.zeros(len(starts), dtype=np.int32)
    _count_fields(data, starts, ends, valid, separator, counts)
    return counts


def split_lines(
    data: Bytes, starts: Ints, ends: Ints, valid: Flags, separator: int, count: int, problems: Ints
) -> list[Spans]:
    """The fields of lines, by column."""
    shape = count, len(starts)
    found = np.zeros(shape, dtype=np.int32), np.zeros(shape, dtype=np.int32), np.full(shape, NULL, dtype=np.uint8)
    scan_lines(data, starts, ends, valid, separator, *found, problems)
    return [Spans(data, found[0][index], found[1][index], found[2][index]) for index in range(count)]


def parse_separator(text: str) -> int:
    if len(text) != 1 or ord(text) > 127 or text in '"\r\n':
        raise BadOption(f"sep is one ASCII character and no quote, not {text!r}")
    return ord(text)
