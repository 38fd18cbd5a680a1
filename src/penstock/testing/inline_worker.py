"""A worker that works at once, in the caller's thread: tests that use it run the same way every time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.runtime.worker import Done


class InlineWorker:
    """Implements `runtime.worker.Worker`."""

    def submit(self, done: Done, function: Callable[..., Any], *args: Any) -> None:
        try:
            result = function(*args)
        except Exception as error:
            done(None, error)
        else:
            done(result, None)

    def close(self) -> None:
        """Do nothing: no work is ever running."""
