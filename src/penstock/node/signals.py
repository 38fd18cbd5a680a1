"""Signals that stop a process: SIGTERM, or Ctrl-C."""

from __future__ import annotations

import asyncio
import signal


def asked_to_stop() -> asyncio.Event:
    """Set by the first such signal."""
    asked = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, asked.set)
    return asked
