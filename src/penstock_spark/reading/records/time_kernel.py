"""A compiled loop over the times of one batch, which decodes nothing else of its records."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock_spark.arrays import Bytes
from penstock_spark.compiled import compiled
from penstock_spark.reading.records.kernels import varint


@compiled
def least_time_delta(data: Bytes, count: int) -> tuple[Any, int]:
    """(smallest difference to the batch's first time, valid records). Stops at a record that does not fit."""
    at, limit = 0, len(data)
    least = np.int64(0)
    for index in range(count):
        size, at = varint(data, at, limit)
        if at < 0 or size < 2 or at + size > limit:
            return least, index
        delta, behind = varint(data, at + 1, at + size)
        if behind < 0:
            return least, index
        if index == 0 or delta < least:
            least = delta
        at += size
    return least, count
