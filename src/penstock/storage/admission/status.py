"""The status of an open log: whether it can be used, its configs, where it begins, how much of it is on disk.

The state of an open log only gets worse; the next start finds out again what is true.
"""

from __future__ import annotations

from penstock.model.errors import ErrorCode, KafkaError
from penstock.storage.interface import LogConfig, LogState

UNLIMITED = 1 << 63
"""`readable_end` of a log without damage: above every offset."""


class Status:
    """Implements `storage.interface.LogStatus`; shared by the parts of one log.

    The state is changed on the event loop or by a reader that found damage, the rest on the event loop.
    """

    __slots__ = ("config", "flushed", "log_start", "readable_end", "state")

    def __init__(self, config: LogConfig, log_start: int = 0, damaged_at: int | None = None) -> None:
        self.config = config
        self.log_start = log_start
        self.flushed = 0  # the owner of the log's end says how much is on disk
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
