"""A coroutine whose time on the event loop is measured: the clock stops while it waits."""

from __future__ import annotations

import functools
from collections.abc import Coroutine, Generator
from time import perf_counter_ns
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Timed(Generic[T]):
    """Awaits a coroutine step by step. Time of other tasks is not counted."""

    __slots__ = ("_coroutine", "spent_ns")

    def __init__(self, coroutine: Coroutine[Any, Any, T]) -> None:
        self._coroutine = coroutine
        self.spent_ns = 0

    def __await__(self) -> Generator[Any, Any, T]:
        step = functools.partial(self._coroutine.send, None)
        while True:
            started = perf_counter_ns()
            try:
                awaited = step()
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            finally:
                self.spent_ns += perf_counter_ns() - started
            try:
                yield awaited
            except GeneratorExit:
                self._coroutine.close()
                raise
            except BaseException as error:  # a cancellation, or the exception of the awaited future
                step = functools.partial(self._coroutine.throw, error)
            else:
                step = functools.partial(self._coroutine.send, None)
