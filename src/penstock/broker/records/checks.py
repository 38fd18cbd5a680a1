"""Checks of a produced batch's records and recompression, where a topic requires them.

Cheap cases are decided on the event loop, within a budget; `check_batches` is for the worker process. No I/O here.

Nearly every batch is sound and small, or small and compressed. Everything else goes to the worker: batches that would
take longer than the budget, that unpack to more than a little, and invalid ones, since naming the problem costs more
than noticing it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final, NamedTuple

from penstock.model.batch import HEADER_BYTES, BatchHeader, Buffer
from penstock.model.batch_builder import repack
from penstock.model.compression import DecompressedTooLarge
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.limits import RECORD_ERRORS_MAX
from penstock.model.record_walk import sound_steps
from penstock.model.records import InvalidRecords, check_records, records_payload
from penstock.model.timestamps import BadTimestamps, StampedByClient

# In steps: one is a record or a header, about 1.3 µs.
LOOP_STEPS_MAX: Final = 500
# Unpacking at most this much takes 20 to 150 µs, by codec.
LOOP_UNPACKED_BYTES_MAX: Final = 32 * 1024
_UNPACKING_STEPS: Final = 50
# Packing with gzip, the slowest, takes 20 µs for 1 KiB.
_PACKED_BYTES_PER_STEP: Final = 64
# A task of the worker process; a batch that takes longer is one by itself.
CHECK_TURN_NS: Final = 20_000_000


class RecordCheck(NamedTuple):
    """One batch and what it needs before it is appended."""

    batch: Buffer
    header: BatchHeader
    validate: bool
    keyed: bool
    codec: int
    """Codec to store it with."""
    batch_bytes_max: int
    unpacked_bytes_max: int


CheckResult = KafkaError | bytearray | None
"""Refused, to be stored like this, or to be stored as it is."""


class LoopBudget:
    """Number of steps left for one request on the event loop."""

    __slots__ = ("_steps",)

    def __init__(self) -> None:
        self._steps = LOOP_STEPS_MAX

    def try_check(self, check: RecordCheck) -> tuple[bool, CheckResult]:
        """Check here: (True, result) if the batch is sound and that was cheap to find; otherwise (False, None)."""
        payload = self._unpack(check.batch, check.header)
        if payload is None or (check.validate and not self._is_sound(payload, check)):
            return False, None
        if check.codec == check.header.codec:
            return True, None
        if not self._spend(len(payload) // _PACKED_BYTES_PER_STEP):
            return False, None
        return True, repack(payload, check.header, check.codec)

    def bad_timestamps(
        self, error: BadTimestamps | StampedByClient, batch: Buffer, header: BatchHeader
    ) -> list[tuple[int, str]]:
        """The records for which a batch was refused, as far as a cheap look finds them."""
        payload = self._unpack(batch, header)
        if payload is None:
            return []
        count = min(header.record_count, max(0, self._steps))
        self._steps -= count
        return error.named(header, payload, count)

    def _unpack(self, batch: Buffer, header: BatchHeader) -> Buffer | None:
        if header.codec == 0:
            return memoryview(batch)[HEADER_BYTES:]
        if len(batch) > LOOP_UNPACKED_BYTES_MAX or not self._spend(_UNPACKING_STEPS):
            return None
        try:
            return records_payload(batch, header, limit=LOOP_UNPACKED_BYTES_MAX)
        except KafkaError:
            return None

    def _is_sound(self, payload: Buffer, check: RecordCheck) -> bool:
        steps = sound_steps(payload, check.header.record_count, keyed=check.keyed, steps_max=self._steps)
        return self._spend(steps or LOOP_STEPS_MAX) and steps > 0

    def _spend(self, steps: int) -> bool:
        self._steps -= steps
        return self._steps >= 0


def check_batches(checks: Sequence[RecordCheck], turn_ns: int = CHECK_TURN_NS) -> list[CheckResult]:
    """Check batches in the worker process, at least one. Returns a result for each of those that the turn was enough
    for; the others have to wait for the next one, because other clients wait as well.
    """
    end = time.perf_counter_ns() + turn_ns
    results: list[CheckResult] = []
    for check in checks:
        results.append(_check(check))
        if time.perf_counter_ns() > end:
            break
    return results


def _check(check: RecordCheck) -> CheckResult:
    header = check.header
    try:
        payload = records_payload(check.batch, header, limit=check.unpacked_bytes_max)
    except DecompressedTooLarge as error:
        return error
    except KafkaError as error:
        return KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, error.message or "")  # as in Kafka, and clients do not retry
    try:
        if check.validate:
            check_records(payload, header, compacted=check.keyed)
    except InvalidRecords as error:
        return InvalidRecords(error.bad[:RECORD_ERRORS_MAX], error.message or "")
    except KafkaError as error:
        return error
    if check.codec == header.codec:
        return None
    batch = repack(payload, header, check.codec)
    if len(batch) > check.batch_bytes_max:  # not worth the way back
        text = f"a batch of {len(batch)} bytes, max.message.bytes is {check.batch_bytes_max}"
        return KafkaError(ErrorCode.MESSAGE_TOO_LARGE, text)
    return batch
