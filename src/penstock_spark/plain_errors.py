"""Errors as a user reads them: the reason first, in one line with the fix, and no way through our own files above it.

PySpark sends the traceback of a worker to the driver, unless a variable of the worker tells it not to. A worker ends
with its first error, so the variable is set for that error alone; and only for those whose text says everything. What
is a mistake of ours keeps its traceback.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

_RUNTIME, _HIDDEN = "SPARK_PYTHON_RUNTIME", "SPARK_HIDE_TRACEBACK"


@contextmanager
def plainly() -> Iterator[None]:
    """Show an error that leaves here by its text. It may also be put before a function, but not before a generator."""
    try:
        yield
    except Exception as error:
        plain = told(error)
        if plain is None:
            raise
        if os.environ.get(_RUNTIME) == "PYTHON_WORKER":
            os.environ[_HIDDEN] = "1"
        if plain is error:
            raise
        raise plain from None


def told(error: Exception) -> Exception | None:
    """The error whose text says what is wrong and what mends it; None if it should be shown with its way."""
    from penstock.client.connection import BrokerUnavailable  # not for sessions in which nothing goes wrong
    from penstock.model.errors import ErrorCode, KafkaError
    from penstock_spark.errors import EXPLAINED, NotReached, NotThere

    if isinstance(error, EXPLAINED):
        return error
    if isinstance(error, BrokerUnavailable):
        return NotReached(f"{error}. Is kafka.bootstrap.servers right, and does the broker run there?")
    if isinstance(error, KafkaError) and error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        return NotThere(error.code, f"{error}: create it, or correct its name")
    return error if isinstance(error, KafkaError) else None
