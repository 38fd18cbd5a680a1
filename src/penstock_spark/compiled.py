"""Functions that numba compiles. The machine code is kept beside the sources: compiling takes longer than most queries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    result: Function = numba.njit(cache=True, nogil=True)(function)
    return result
