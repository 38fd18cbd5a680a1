"""A thread that makes one call periodically, for parts that do not use asyncio."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Ticker:
    """A thread that calls `tick` until it is stopped; `tick` hands over to the loop."""

    def __init__(self, name: str, interval_s: float, tick: Callable[[], object]) -> None:
        self._interval_s = interval_s
        self._tick = tick
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stop; no tick comes after the return. May be called if it was never started."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._stopping.wait(self._interval_s):
            self._tick()
