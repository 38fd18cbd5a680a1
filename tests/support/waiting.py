"""Waiting without sleeping blindly: poll a condition until it holds or a deadline passes."""

import time
from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")

POLL_INTERVAL_S = 0.02
WITHIN_S = 90.0
"""The limit for steps that take milliseconds on an idle machine: on a busy one everything takes longer."""


class DeadlinePassed(AssertionError):
    """The condition did not come true in time; the message says which one."""


def wait_until(condition: Callable[[], Value], *, what: str, within_s: float = WITHIN_S) -> Value:
    """Call `condition` until it returns something true, and return that."""
    deadline = time.monotonic() + within_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= deadline:
            raise DeadlinePassed(f"not within {within_s} s: {what} (last seen: {value!r})")
        time.sleep(POLL_INTERVAL_S)
