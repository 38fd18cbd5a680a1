"""Columns as plain arrays for compiled loops. Light to import: nothing is compiled here."""

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
        _valid(array),
    )


def _valid(array: pa.Array) -> Bytes:
    if not array.null_count:
        return np.ones(len(array), dtype=np.uint8)
    return np.asarray(array.is_valid().to_numpy(zero_copy_only=False)).view(np.uint8)


def nulls(count: int) -> Binary:
    return Binary(np.zeros(count + 1, dtype=np.int32), NO_BYTES, np.zeros(count, dtype=np.uint8))
