"""Functions that numba compiles. The machine code is cached beside the sources: compiling is slower than most queries.

`python -m penstock_spark.precompile` compiles everything beforehand; `make setup` does that.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core import event

logger = logging.getLogger(__name__)

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    return _kept(function, nogil=True)


def inlined(function: Function) -> Function:
    """A small part of compiled functions, inlined into each: a call would cost more, for every array it takes."""
    return _kept(function, nogil=True, inline="always")


def _kept(function: Function, **how: Any) -> Function:
    """A function with a cache of its machine code; where no cache can be written, each process compiles again."""
    try:
        result: Any = numba.njit(cache=True, **how)(function)
    except RuntimeError as error:
        logger.warning("%s; set NUMBA_CACHE_DIR to a directory that can be written", error)
        result = numba.njit(**how)(function)
    return cast(Function, result)


@inlined
def wide(number: int) -> int:
    """The array with 64-bit items: a loop is compiled for each width that it is called with."""
    return np.int64(number)  # type: ignore[return-value]


class _FirstTime(event.Listener):
    """Logs once why a query begins so slowly; nothing is logged if everything comes from the cache."""

    def __init__(self) -> None:
        self._is_said = False

    def on_start(self, _event: Any) -> None:
        if not self._is_said:
            self._is_said = True
            remedy = "`python -m penstock_spark.precompile` does it beforehand"
            logger.warning("loops are being compiled, once for this installation: up to half a minute; %s", remedy)

    def on_end(self, _event: Any) -> None:
        pass


event.register("numba:compile", _FirstTime())  # type: ignore[no-untyped-call]
