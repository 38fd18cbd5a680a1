"""The interface of all formats: it takes values and returns typed columns, and a reason for each bad row."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from penstock_spark.arrays import Bytes, Flags, Ints
from penstock_spark.reading.values.spans import Decoded, binary_parts, without

OF_FIELDS = 8
"""Problems from this number on are those of the first field, the second, and so on; 0 means no problem."""


class Typed(NamedTuple):
    """Typed columns. `problems` has 0 for each good row; `Decoder.reasons` has the texts of the other numbers."""

    columns: list[pa.Array]
    problems: Ints


class Decoder(ABC):
    """A decoder for the fields of `wanted`, in that order. A null value is valid and null in all columns."""

    format: str
    problem_texts: tuple[str, ...]
    """The texts of problems with a whole value, from problem 1 on."""

    def __init__(self, wanted: StructType) -> None:
        self.wanted = wanted
        self.schema: pa.Schema = to_arrow_schema(wanted, timezone="UTC")
        unknown = ("",) * (OF_FIELDS - 1 - len(self.problem_texts))
        of_fields = [f"{field.name} is no {field.dataType.simpleString().upper()}" for field in wanted]
        self.reasons = ["", *self.problem_texts, *unknown, *of_fields]

    def decode(self, values: pa.Array) -> Typed:
        """Decode values; a bad row is null in every column."""
        data, starts, ends, valid = binary_parts(values)
        problems: Ints = np.zeros(len(values), dtype=np.int32)
        columns = self._columns(data, starts, ends, valid, problems)
        for index, column in enumerate(columns):
            problems[column.wrong & (problems == 0)] = OF_FIELDS + index
        is_bad = problems > 0
        return Typed([without(column.array, is_bad) for column in columns], problems)

    @abstractmethod
    def _columns(self, data: Bytes, starts: Ints, ends: Ints, valid: Flags, problems: Ints) -> Sequence[Decoded]:
        """A column for each field; problems of whole values are written to `problems`."""
