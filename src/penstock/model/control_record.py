"""The marker that ends a transaction in a partition: a control batch with one record, in Kafka's bytes.

    batch   attributes transactional and control, base sequence -1, the producer's id and epoch
    key     version int16 0 | type int16: 0 abort, 1 commit
    value   version int16 0 | coordinator epoch int32

Only the broker writes these. Parsed bytes may come from a disk or from another broker and are not trusted.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from penstock.model.batch import HEADER_BYTES, BatchHeader, Buffer
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.records import batch_records

ABORT = 0
COMMIT = 1

_KEY = Struct(">hh")
_VALUE = Struct(">hi")
_VERSION = 0
# A marker is about 80 bytes; a much larger batch, even when unpacked, is not a marker.
_PAYLOAD_BYTES_MAX = 1024


class Marker(NamedTuple):
    """How a producer's transaction ended. With transactions of version 2 the epoch is already the next one."""

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    is_commit: bool


def build_marker(marker: Marker, now_ms: int) -> bytearray:
    """The batch, with offset and leader epoch still to be stamped."""
    key = _KEY.pack(_VERSION, COMMIT if marker.is_commit else ABORT)
    value = _VALUE.pack(_VERSION, marker.coordinator_epoch)
    return build_batch(
        [NewRecord(key, value)],
        timestamp=now_ms,
        producer_id=marker.producer_id,
        producer_epoch=marker.producer_epoch,
        transactional=True,
        control=True,
    )


def parse_marker(batch: Buffer, header: BatchHeader) -> Marker | None:
    """The marker in a control batch; None if compaction has left no record in it.

    KafkaError CORRUPT_MESSAGE for anything else, whatever the bytes are.
    """
    if not header.is_control or not header.is_transactional:
        raise _corrupt("not the control batch of a transaction")
    if len(batch) < max(header.size_bytes, HEADER_BYTES):
        raise _corrupt(f"{len(batch)} bytes of {header.size_bytes}")
    if header.record_count == 0:
        return None
    if header.record_count != 1:
        raise _corrupt(f"{header.record_count} records")
    (record,) = batch_records(batch, header, limit=_PAYLOAD_BYTES_MAX)
    key, value = record.key or b"", record.value or b""
    # Later versions may append fields, as Kafka's readers expect, but never change these.
    if len(key) < _KEY.size or len(value) < _VALUE.size:
        raise _corrupt(f"a key of {len(key)} bytes and a value of {len(value)}")
    key_version, kind = _KEY.unpack_from(key)
    value_version, coordinator_epoch = _VALUE.unpack_from(value)
    if key_version < 0 or value_version < 0:
        raise _corrupt(f"versions {key_version} and {value_version}")
    if kind not in (ABORT, COMMIT):
        raise _corrupt(f"type {kind} is neither abort nor commit")
    return Marker(header.producer_id, header.producer_epoch, coordinator_epoch, kind == COMMIT)


def _corrupt(why: str) -> KafkaError:
    return KafkaError(ErrorCode.CORRUPT_MESSAGE, f"no transaction marker: {why}")
