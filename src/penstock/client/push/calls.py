"""A request that waits for its answer. The caller is notified when the answer has come, and decides how to wait."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Call:
    """`finished` is called once, on whatever thread reads from the connection."""

    __slots__ = ("done", "error", "finished", "value")

    def __init__(self, finished: Callable[[], None]) -> None:
        self.finished = finished
        self.done = False
        self.value: Any = None
        self.error: Exception | None = None

    def succeed(self, value: Any) -> None:
        self._end(value, None)

    def fail(self, error: Exception) -> None:
        self._end(None, error)

    def _end(self, value: Any, error: Exception | None) -> None:
        if not self.done:
            self.done, self.value, self.error = True, value, error
            self.finished()

    def result(self) -> Any:
        """Of one that is done. Raises its error."""
        assert self.done
        if self.error is not None:
            raise self.error
        return self.value
