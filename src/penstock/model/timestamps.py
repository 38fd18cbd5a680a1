"""Timestamps that a log does not take, and which records of a batch have them. No clock here: limits are given."""

from __future__ import annotations

from typing import Any

from penstock.model.batch import BatchHeader, Buffer
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.ids import NO_TIMESTAMP
from penstock.model.record_walk import timestamps

REJECTED = "One or more records have been rejected due to invalid timestamp"


class BadTimestamps(KafkaError):
    """INVALID_TIMESTAMP for a whole batch, with the times its records might have had."""

    def __init__(self, earliest: int, latest: int) -> None:
        super().__init__(ErrorCode.INVALID_TIMESTAMP, REJECTED)
        self.earliest, self.latest = earliest, latest

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.earliest, self.latest)

    def named(self, header: BatchHeader, payload: Buffer, count: int) -> list[tuple[int, str]]:
        """Index and reason of the bad ones among the first `count` records. None where they do not decode."""
        bad = []
        try:
            for index, timestamp in enumerate(timestamps(payload, header, count)):
                if timestamp != NO_TIMESTAMP and not self.earliest <= timestamp <= self.latest:
                    allowed = f"[{self.earliest}, {self.latest}]"
                    text = f"Timestamp {timestamp} of message with offset {index} is out of range. The timestamp should"
                    bad.append((index, f"{text} be within {allowed}"))
        except (IndexError, ValueError):
            return []
        return bad


class StampedByClient(KafkaError):
    """INVALID_TIMESTAMP for a batch that claims the type LogAppendTime, which is the broker's to give."""

    def __init__(self) -> None:
        super().__init__(ErrorCode.INVALID_TIMESTAMP, REJECTED)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()

    def named(self, header: BatchHeader, payload: Buffer, count: int) -> list[tuple[int, str]]:
        text = "Invalid timestamp type. Producer should not set timestamp type to LogAppendTime."
        return [(index, text) for index in range(min(count, header.record_count))]
