"""Signals that stop a process (SIGTERM, Ctrl-C) or let it read files again (SIGHUP)."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable


def asked_to_stop() -> asyncio.Event:
    """Set by the first such signal."""
    asked = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, asked.set)
    return asked


def on_reload(reload: Callable[[], object]) -> None:
    """Call `reload` at each SIGHUP: files that settings name have changed."""
    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, reload)
