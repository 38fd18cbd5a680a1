"""Answers as plain dicts and lists, exactly as they came: nothing is left out, nothing is made equal here.

kio reads an answer into dataclasses; here they become what JSON knows. Spans and times are milliseconds, error codes
numbers, UUIDs strings (null is the UUID of zeros), bytes are hex, and the records of a fetch are a list of batches
with their records.
"""

from __future__ import annotations

import datetime
import uuid
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from tests.support.batches import StoredBatch, StoredRecord, decode_batches


def plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: _field(field.metadata.get("kafka_type"), getattr(value, field.name)) for field in fields(value)
        }
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime.timedelta):
        return round(value / datetime.timedelta(milliseconds=1))
    if isinstance(value, datetime.datetime):
        return round(value.timestamp() * 1000)
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, bytes | memoryview):
        return bytes(value).hex()
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    return value


def _field(kafka_type: str | None, value: Any) -> Any:
    if kafka_type == "records" and value is not None:
        return records(bytes(value))
    return plain(value)


def records(data: bytes) -> list[dict[str, Any]]:
    """The batches in the order they came; bytes that are no whole batch are counted at the end."""
    batches = decode_batches(data)
    found = [_batch(each) for each in batches]
    left = len(data) - sum(61 + len(each.body) for each in batches)
    return [*found, {"cut_off_bytes": left}] if left else found


def _batch(stored: StoredBatch) -> dict[str, Any]:
    return {
        "base_offset": stored.base_offset,
        "partition_leader_epoch": stored.leader_epoch,
        "magic": stored.magic,
        "crc_is_right": stored.crc_is_right,
        "attributes": stored.attributes,
        "last_offset_delta": stored.last_offset_delta,
        "base_timestamp": stored.base_timestamp_ms,
        "max_timestamp": stored.max_timestamp_ms,
        "producer_id": stored.producer_id,
        "producer_epoch": stored.producer_epoch,
        "base_sequence": stored.base_sequence,
        "count": stored.count,
        "records": [_record(each) for each in stored.records],
    }


def _record(stored: StoredRecord) -> dict[str, Any]:
    return {
        "offset": stored.offset,
        "timestamp": stored.timestamp_ms,
        "key": None if stored.key is None else stored.key.decode("latin-1"),
        "value": None if stored.value is None else stored.value.decode("latin-1"),
        "headers": [[name, None if value is None else value.decode("latin-1")] for name, value in stored.headers],
    }
