"""How often an engine looks after its logs, and how much of that it does at a time."""

from __future__ import annotations

TICK_SECONDS = 0.25

LOGS_SEEN_PER_TICK = 200
"""Logs looked at in one tick by one job: a tick is on the event loop, and ten thousand at once would stall it."""
