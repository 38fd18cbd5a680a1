"""Decoding of spans of text into Arrow columns of numbers, strings, dates and times."""

from __future__ import annotations

import base64
import binascii
import decimal
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock_spark.arrays import Flags
from penstock_spark.reading.values.number_kernels import HARD, WRONG, decimals, doubles, integers
from penstock_spark.reading.values.spans import (
    ESCAPED,
    FALSE,
    FLOAT,
    INTEGER,
    NOT_FINITE,
    NULL,
    STRING,
    TEXT,
    TRUE,
    Decoded,
    Spans,
    bitmap,
    fixed,
    without,
)
from penstock_spark.reading.values.text_kernels import copy_texts
from penstock_spark.reading.values.time_kernels import dates, times

MICROS = 1_000_000
_LONG_DIGITS = 18


@dataclass(frozen=True)
class Dialect:
    """The kinds of text that are allowed for each type; sets of kinds are numbers, by bit."""

    integers: int
    numbers: int
    words: int
    """Kinds that may be `NaN` or `Infinity`."""
    decimals: int
    times: int
    seconds: int
    """Kinds that may be a timestamp in seconds since 1970."""
    is_base64: bool
    """The notation of binaries."""


def kinds(*members: int) -> int:
    return sum(1 << member for member in members)


JSON = Dialect(
    integers=kinds(INTEGER),
    numbers=kinds(INTEGER, FLOAT),
    words=kinds(NOT_FINITE, STRING),
    decimals=kinds(INTEGER, FLOAT, STRING),
    times=kinds(STRING),
    seconds=kinds(INTEGER),
    is_base64=True,
)
CSV = Dialect(
    integers=kinds(TEXT),
    numbers=kinds(TEXT),
    words=kinds(TEXT),
    decimals=kinds(TEXT),
    times=kinds(TEXT),
    seconds=0,
    is_base64=False,
)


def decode_scalar(spans: Spans, kind: pa.DataType, dialect: Dialect) -> Decoded:
    if pa.types.is_string(kind):
        return strings(spans)
    if pa.types.is_signed_integer(kind):
        return _integers(spans, kind, dialect)
    if pa.types.is_floating(kind):
        return _doubles(spans, kind, dialect)
    if pa.types.is_boolean(kind):
        return _booleans(spans)
    if pa.types.is_decimal(kind):
        return _decimals(spans, kind, dialect)
    if pa.types.is_date(kind):
        return _dates(spans, kind, dialect)
    if pa.types.is_timestamp(kind):
        return _timestamps(spans, kind, dialect)
    assert pa.types.is_binary(kind), kind
    return _binaries(spans, dialect)


def texts(spans: Spans, kind: pa.DataType) -> pa.Array:
    """Texts as they are, without a check that they are UTF-8."""
    there = ~spans.is_null
    ends = np.zeros(spans.size + 1, dtype=np.int32)
    room = int((spans.ends.astype(np.int64) - spans.starts)[there].sum())
    content = np.empty(room, dtype=np.uint8)
    copy_texts(*spans, ends, content)
    return pa.Array.from_buffers(kind, spans.size, [bitmap(there), pa.py_buffer(ends), pa.py_buffer(content)])


def strings(spans: Spans) -> Decoded:
    array = texts(spans, pa.string())
    wrong = np.zeros(spans.size, dtype=np.bool_)
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        binaries = array.view(pa.binary()).to_pylist()
        wrong = np.array([each is not None and not _is_utf8(each) for each in binaries])
        array = without(array.view(pa.binary()), wrong).view(pa.string())
    return Decoded(array, wrong)


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _integers(spans: Spans, kind: pa.DataType, dialect: Dialect) -> Decoded:
    values, wrong = np.empty(spans.size, dtype=np.int64), np.empty(spans.size, dtype=np.bool_)
    limits = np.iinfo(kind.to_pandas_dtype())
    integers(*spans, dialect.integers, int(limits.min), int(limits.max), values, wrong)
    return Decoded(fixed(kind, values.astype(limits.dtype, copy=False), ~(spans.is_null | wrong)), wrong)


def _doubles(spans: Spans, kind: pa.DataType, dialect: Dialect) -> Decoded:
    values, states = np.empty(spans.size, dtype=np.float64), np.empty(spans.size, dtype=np.uint8)
    doubles(*spans, dialect.numbers, dialect.words, values, states)
    hard = np.flatnonzero(states == HARD)
    if len(hard):
        found = texts(spans.take(hard), pa.string())
        try:
            values[hard] = found.cast(pa.float64()).to_numpy()
        except pa.ArrowInvalid:  # outside the range of a double: infinite, or 0
            values[hard] = [float(each) for each in found.to_pylist()]
    wrong = states == WRONG
    with np.errstate(over="ignore"):
        values = values.astype(kind.to_pandas_dtype(), copy=False)
    return Decoded(fixed(kind, values, ~(spans.is_null | wrong)), wrong)


def _booleans(spans: Spans) -> Decoded:
    is_true, is_false = spans.kinds == TRUE, spans.kinds == FALSE
    rows = np.flatnonzero(spans.kinds == TEXT)
    if len(rows):
        found = np.char.lower(np.array(texts(spans.take(rows), pa.binary()).to_pylist(), dtype=np.bytes_))
        is_true[rows], is_false[rows] = found == b"true", found == b"false"
    there = is_true | is_false
    buffers = [bitmap(there), pa.py_buffer(np.packbits(is_true, bitorder="little"))]
    return Decoded(pa.Array.from_buffers(pa.bool_(), spans.size, buffers), ~(there | spans.is_null))


def _decimals(spans: Spans, kind: pa.DataType, dialect: Dialect) -> Decoded:
    values, states = np.empty((spans.size, 2), dtype=np.int64), np.empty(spans.size, dtype=np.uint8)
    units = np.empty(spans.size, dtype=np.int64)
    limit = 10 ** min(kind.precision, _LONG_DIGITS)
    decimals(*spans, dialect.decimals, limit, kind.scale, units, states)
    for row in np.flatnonzero(states == HARD):
        text = bytes(spans.data[spans.starts[row] : spans.ends[row]])
        exact = _exact_decimal(text.decode(), kind)
        states[row] = WRONG if exact is None else states[row]
        values[row] = 0
        if exact is not None:
            values[row] = np.frombuffer(exact.to_bytes(16, "little", signed=True), dtype=np.int64)
    short = states != HARD
    values[short, 0], values[short, 1] = units[short], units[short] >> 63
    wrong = states == WRONG
    return Decoded(fixed(kind, values, ~(spans.is_null | wrong)), wrong)


def _exact_decimal(text: str, kind: pa.DataType) -> int | None:
    """Units of the last place, rounded half up; None if there are too many."""
    with decimal.localcontext() as context:
        context.prec = 500
        number = decimal.Decimal(text)
        if number.adjusted() > kind.precision:
            return None
        number = number.scaleb(kind.scale).to_integral_value(decimal.ROUND_HALF_UP)
        return int(number) if abs(number) < 10**kind.precision else None


def _dates(spans: Spans, kind: pa.DataType, dialect: Dialect) -> Decoded:
    values, wrong = np.empty(spans.size, dtype=np.int32), np.empty(spans.size, dtype=np.bool_)
    dates(*spans, dialect.times, values, wrong)
    return Decoded(fixed(kind, values, ~(spans.is_null | wrong)), wrong)


def _timestamps(spans: Spans, kind: pa.DataType, dialect: Dialect) -> Decoded:
    values, wrong = np.empty(spans.size, dtype=np.int64), np.empty(spans.size, dtype=np.bool_)
    times(*spans, dialect.times, kind.tz is not None, values, wrong)
    if dialect.seconds and kind.tz is not None:
        rows = np.flatnonzero((dialect.seconds >> spans.kinds.astype(np.int64)) & 1)
        if len(rows):
            seconds, is_wrong = np.empty(len(rows), dtype=np.int64), np.empty(len(rows), dtype=np.bool_)
            limit = (1 << 63) // MICROS - 1
            integers(*spans.take(rows), dialect.seconds, -limit, limit, seconds, is_wrong)
            values[rows], wrong[rows] = seconds * MICROS, is_wrong
    return Decoded(fixed(kind, values, ~(spans.is_null | wrong)), wrong)


def _binaries(spans: Spans, dialect: Dialect) -> Decoded:
    array = texts(spans, pa.binary())
    wrong: Flags = np.zeros(spans.size, dtype=np.bool_)
    if not dialect.is_base64:
        return Decoded(array, wrong)
    items = array.to_pylist()
    is_string = (spans.kinds == STRING) | (spans.kinds == ESCAPED) | (spans.kinds == NULL)
    for row, text in enumerate(items):
        try:
            items[row] = None if text is None else base64.b64decode(text, validate=True)
        except binascii.Error:
            items[row] = None
            wrong[row] = True
    wrong |= ~is_string
    return Decoded(without(pa.array(items, pa.binary()), wrong), wrong)
