"""Functions that numba compiles. Machine code is kept beside the sources: compiling takes longer than most queries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    result: Any = numba.njit(cache=True, nogil=True)(function)
    return cast(Function, result)


def inlined(function: Function) -> Function:
    """A small part of compiled functions, put into each: a call costs more than that, for every array it takes."""
    result: Any = numba.njit(cache=True, nogil=True, inline="always")(function)
    return cast(Function, result)
