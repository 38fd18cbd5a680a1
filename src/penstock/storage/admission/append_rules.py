"""Rules for a batch that enters a log, on disk or in memory: sizes and timestamps, as in Kafka.

Sequences of idempotent producers are the business of `producer_state`. All rules read the header only.
"""

from __future__ import annotations

from typing import Protocol

from penstock.model.batch import LOG_APPEND_TIME_BIT, BatchHeader
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.ids import NO_TIMESTAMP
from penstock.model.timestamps import BadTimestamps, StampedByClient
from penstock.storage.interface import LogConfig
from penstock.storage.segment.offset_index import RELATIVE_OFFSET_MAX


def check_batch_fits(config: LogConfig, header: BatchHeader, size: int, now_ms: int) -> None:
    """Raises KafkaError MESSAGE_TOO_LARGE, RECORD_LIST_TOO_LARGE or INVALID_TIMESTAMP."""
    if size > config.max_message_bytes and not header.is_control:  # markers are the broker's own
        raise KafkaError(
            ErrorCode.MESSAGE_TOO_LARGE, f"a batch of {size} bytes, max.message.bytes is {config.max_message_bytes}"
        )
    if size > config.segment_bytes:
        raise KafkaError(
            ErrorCode.RECORD_LIST_TOO_LARGE, f"a batch of {size} bytes, segment.bytes is {config.segment_bytes}"
        )
    if header.attributes & LOG_APPEND_TIME_BIT:
        raise StampedByClient
    if config.log_append_time:
        return
    if header.max_timestamp - now_ms > config.timestamp_after_max_ms:
        raise _bad_timestamps(config, now_ms)
    earliest = header.base_timestamp
    if now_ms - earliest > config.timestamp_before_max_ms and earliest != NO_TIMESTAMP:
        raise _bad_timestamps(config, now_ms)


def check_stamped_batch(config: LogConfig, header: BatchHeader, now_ms: int) -> None:
    """Whether a log of CreateTime takes a batch that a client stamped: its one timestamp must be allowed."""
    if config.log_append_time or header.max_timestamp == NO_TIMESTAMP:
        raise StampedByClient
    if not -config.timestamp_before_max_ms <= header.max_timestamp - now_ms <= config.timestamp_after_max_ms:
        raise _bad_timestamps(config, now_ms)


def _bad_timestamps(config: LogConfig, now_ms: int) -> BadTimestamps:
    return BadTimestamps(now_ms - config.timestamp_before_max_ms, now_ms + config.timestamp_after_max_ms)


class RollingSegment(Protocol):
    """The parts of the active segment that rolling looks at."""

    base_offset: int
    size: int
    first_timestamp: int


def must_roll(config: LogConfig, segment: RollingSegment, size: int, timestamp: int, last_offset: int) -> bool:
    """Whether a batch has to go into a new segment; time is that of the batches, as in Kafka."""
    if segment.size == 0:
        return False
    return (
        segment.size + size > config.segment_bytes
        or (segment.first_timestamp >= 0 and timestamp - segment.first_timestamp > config.segment_ms)
        or last_offset - segment.base_offset > RELATIVE_OFFSET_MAX
    )
