"""A worker of Python in which Spark runs tasks one after the other: what it should do once for all of them."""

from __future__ import annotations

import gc
from functools import cache
from typing import Final

from penstock.runtime.heap import keep_freed_memory

KEPT_BYTES: Final = 64 << 20
FROM_HEAP_BYTES_MAX: Final = 16 << 20
"""Answers to fetches have four megabytes, and so have the columns that are made of them."""


@cache
def settle() -> None:
    """Call it in a task, when everything that tasks need is imported.

    Spark's worker collects garbage after each task: 40 ms for the objects of all those modules, which will never be
    garbage. And each piece of memory above some hundred kilobytes would be taken from the system anew.
    """
    gc.freeze()
    keep_freed_memory(KEPT_BYTES, FROM_HEAP_BYTES_MAX)
