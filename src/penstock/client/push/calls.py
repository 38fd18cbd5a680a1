"""A request that waits for its answer. Its caller is notified of the answer, and decides how to wait."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Call:
    """One request. `finished` is called once, on the thread that reads from the connection."""

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
        """The result of a call that is done. Raises its error."""
        assert self.done
        if self.error is not None:
            raise self.error
        return self.value
