"""Whether something can be read now, or its other side has gone; of any descriptor, unlike `select.select`."""

from __future__ import annotations

import select
from typing import Protocol


class HasDescriptor(Protocol):
    def fileno(self) -> int: ...


def is_readable(source: HasDescriptor, timeout_s: float | None = 0.0) -> bool:
    """Wait for it, without a time-out for as long as it takes."""
    polled = select.poll()
    polled.register(source, select.POLLIN)
    return bool(polled.poll(None if timeout_s is None else timeout_s * 1000))
