"""Whether a log can be used: online, damaged from an offset on, or offline for good.

The state of an open log only gets worse; the next start finds out again what is true.
"""

from __future__ import annotations

from penstock.model.errors import ErrorCode, KafkaError
from penstock.storage.interface import LogState

UNLIMITED = 1 << 63
"""`readable_end` of a log without damage: above every offset."""


class LogCondition:
    """State of one log, shared by its parts. Changed on the event loop or by a reader that found damage."""

    __slots__ = ("readable_end", "state")

    def __init__(self, damaged_at: int | None = None) -> None:
        self.state = LogState.ONLINE if damaged_at is None else LogState.DAMAGED
        self.readable_end = UNLIMITED if damaged_at is None else damaged_at

    def check_writable(self) -> None:
        """Raise KafkaError KAFKA_STORAGE_ERROR unless the log is online."""
        if self.state is not LogState.ONLINE:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"the log is {self.state.value}")

    def check_not_offline(self) -> None:
        """Raise KafkaError KAFKA_STORAGE_ERROR if the log is offline."""
        if self.state is LogState.OFFLINE:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "the log is offline")

    def damage(self, offset: int) -> None:
        """Serve nothing from `offset` on, and refuse writes."""
        if self.state is not LogState.OFFLINE:
            self.state = LogState.DAMAGED
            self.readable_end = min(self.readable_end, offset)

    def take_offline(self) -> None:
        self.state = LogState.OFFLINE
