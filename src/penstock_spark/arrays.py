"""Columns as plain arrays for compiled loops, and back. Light to import: nothing is compiled here.

Functions of pyarrow that take or return arrays of NumPy import pandas, which takes half a second of the first query of
every process. These here do the same for the few kinds that there are, without it.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Flags = NDArray[np.bool_]
Array = TypeVar("Array", bound=NDArray[Any])
Number = TypeVar("Number", bound=np.generic)

NO_INTS: Ints = np.empty(0, dtype=np.int32)
NO_LONGS: Longs = np.empty(0, dtype=np.int64)
NO_BYTES: Bytes = np.empty(0, dtype=np.uint8)


class Binary(NamedTuple):
    """A column of nullable bytes: row n is `data[ends[n]:ends[n + 1]]`."""

    ends: Ints
    data: Bytes
    valid: Bytes


NO_BINARY = Binary(NO_INTS, NO_BYTES, NO_BYTES)


def sealed(array: Array) -> Array:
    """The array, read-only. A loop is compiled for each kind of its arguments: with sealed arrays there is one kind."""
    view = array.view()
    view.flags.writeable = False
    return view


def sealed_binary(column: Binary) -> Binary:
    return Binary(sealed(column.ends), sealed(column.data), sealed(column.valid))


def binary(array: pa.Array) -> Binary:
    """A column of strings or bytes, not copied."""
    if array.type not in (pa.binary(), pa.string()):
        array = array.cast(pa.binary())
    _, ends, data = array.buffers()
    ends_view = np.frombuffer(ends, dtype=np.int32) if ends is not None else np.zeros(1, dtype=np.int32)
    return Binary(
        ends_view[array.offset : array.offset + len(array) + 1],
        np.frombuffer(data, dtype=np.uint8) if data is not None and data.size else NO_BYTES,
        valid(array),
    )


def valid(array: pa.Array) -> Bytes:
    """1 for each value, 0 for each null."""
    bitmap = array.buffers()[0]
    if not array.null_count or bitmap is None:
        return np.full(len(array), array.null_count == 0, dtype=np.uint8)
    bits = np.unpackbits(np.frombuffer(bitmap, dtype=np.uint8), count=array.offset + len(array), bitorder="little")
    return bits[array.offset :]


def column(numbers: NDArray[Any], kind: pa.DataType) -> pa.Array:
    """A column of numbers, none of them null; their width is that of `kind`."""
    assert numbers.dtype.itemsize * 8 == kind.bit_width
    return pa.Array.from_buffers(kind, len(numbers), [None, pa.py_buffer(np.ascontiguousarray(numbers))])


def numbers(column: pa.Array, dtype: type[Number]) -> NDArray[Number]:
    """The numbers of a column, not copied; what is null is any number."""
    items = np.frombuffer(column.buffers()[1] or b"", dtype=dtype)
    return items[column.offset : column.offset + len(column)]


def text(value: str) -> pa.StringScalar:
    data = value.encode()
    ends = np.array([0, len(data)], dtype=np.int32)
    return pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(ends), pa.py_buffer(data)])[0]


def nulls(count: int) -> Binary:
    return Binary(np.zeros(count + 1, dtype=np.int32), NO_BYTES, np.zeros(count, dtype=np.uint8))
