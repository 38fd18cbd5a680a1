"""Calls brought onto the event loop, for parts that know nothing of asyncio."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

logger = logging.getLogger(__name__)


class LoopCalls:
    """The engine's way onto the event loop, known from its start on. Any thread."""

    def __init__(self) -> None:
        self._call_soon: Callable[..., object] | None = None

    def start(self, call_soon: Callable[..., object]) -> None:
        """`call_soon(function, *args)` brings a call onto the loop from any thread."""
        self._call_soon = call_soon

    @property
    def is_started(self) -> bool:
        return self._call_soon is not None

    def soon(self, function: Callable[..., object], *args: Any) -> None:
        """Bring a call onto the event loop; dropped when the loop has ended."""
        assert self._call_soon is not None
        try:
            self._call_soon(function, *args)
        except RuntimeError:
            logger.debug("the event loop is closed")
