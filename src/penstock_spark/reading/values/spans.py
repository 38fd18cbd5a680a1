"""A column as spans of one buffer: the start, the end and the kind of each item.

Scanners (JSON, CSV) make spans and copy nothing; the conversion of spans into typed items is the same for all of them.
The parts of a nested value are spans of the same buffer again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock_spark.arrays import Bytes, Flags, Ints, binary

NULL, STRING, ESCAPED, INTEGER, FLOAT, NOT_FINITE, TRUE, FALSE, OBJECT, ARRAY, TEXT, DOUBLED = range(12)
"""Kinds. ESCAPED is a JSON string with escapes, TEXT a field of CSV, DOUBLED one in which quotes are doubled."""


class Spans(NamedTuple):
    data: Bytes
    starts: Ints
    ends: Ints
    kinds: Bytes

    @property
    def size(self) -> int:
        return len(self.starts)

    @property
    def is_null(self) -> Flags:
        flags: Flags = self.kinds == NULL
        return flags

    def take(self, rows: NDArray[np.intp]) -> Spans:
        return Spans(self.data, self.starts[rows], self.ends[rows], self.kinds[rows])


class Decoded(NamedTuple):
    """A column, and a mask of the items that are not of its type; those are null."""

    array: pa.Array
    wrong: Flags


def binary_parts(array: pa.Array) -> tuple[Bytes, Ints, Ints, Flags]:
    """The buffer of an array of binaries, with the starts, ends and validity of its items. No copy."""
    ends, data, valid = binary(array)
    return data, ends[:-1], ends[1:], valid.view(np.bool_)


def bitmap(is_there: Flags) -> pa.Buffer | None:
    """The validity of an Arrow array; None if no item is null."""
    return None if is_there.all() else pa.py_buffer(np.packbits(is_there, bitorder="little"))


def fixed(kind: pa.DataType, values: NDArray[np.generic], is_there: Flags) -> pa.Array:
    """An array of a type of fixed width over numpy's memory."""
    return pa.Array.from_buffers(kind, len(is_there), [bitmap(is_there), pa.py_buffer(np.ascontiguousarray(values))])


def without(array: pa.Array, gone: Flags) -> pa.Array:
    """The array with nulls where `gone` is true."""
    if not gone.any():
        return array
    return array.take(pa.array(np.arange(len(array)), mask=gone))
