"""Builder of Arrow batches with the columns of Spark's Kafka source from record batches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from penstock.model.topic_partition import TopicPartition
from penstock_spark.arrays import Bytes, Ints, Longs, column, text
from penstock_spark.reading.records.batches import DamagedBatch, RecordBatch
from penstock_spark.reading.records.fields import FIELDS, HEADERS, arrow_schema
from penstock_spark.reading.records.kernels import decode, decode_headers

CREATE_TIME, LOG_APPEND_TIME = 0, 1

_WITHOUT_RECORDS = frozenset({"topic", "partition", "offset"})


class ColumnBuilder:
    """Arrow batches of one partition's records between two offsets, with the wanted columns."""

    def __init__(self, place: TopicPartition, first: int, end: int, wanted: Sequence[str]) -> None:
        self._place, self._end = place, end
        self.first = first
        self._wanted = tuple(wanted)
        self._topic = text(place.topic)
        self._needs_records = not _WITHOUT_RECORDS.issuperset(wanted)
        self.schema = arrow_schema(wanted)

    @property
    def keeps_damage(self) -> bool:
        return "_corrupt" in self._wanted

    def build(self, batches: Sequence[RecordBatch]) -> pa.RecordBatch:
        """Build an Arrow batch. DamagedBatch if the records contradict the header of their batch."""
        rows = _Rows(batches, self._wanted)
        for batch in batches:
            self._add(rows, batch)
        arrays = [self._array(rows, name, batches) for name in self._wanted]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def damaged(self, damage: DamagedBatch) -> pa.RecordBatch:
        """A batch that cannot be decoded, as one row at its first offset, or at that of the range if it is larger."""
        known = {
            "topic": self._place.topic,
            "partition": self._place.partition,
            "offset": max(damage.offset, self.first),
            "_corrupt": damage.reason,
        }
        return pa.RecordBatch.from_pylist([known], schema=self.schema)

    def _add(self, rows: _Rows, batch: RecordBatch) -> None:
        header = batch.header
        is_dense = header.record_count == header.last_offset_delta + 1
        if is_dense and not self._needs_records:
            first = max(self.first, header.base_offset)
            rows.add_dense(first, min(self._end, header.next_offset))
            return
        right = rows.add(batch, self.first, self._end)
        if right != header.record_count:
            reason = f"record {right} of {header.record_count} is damaged" if right >= 0 else "bytes follow its records"
            raise DamagedBatch(self._place, header.base_offset, reason)

    def _array(self, rows: _Rows, name: str, batches: Sequence[RecordBatch]) -> pa.Array:
        count = rows.count
        match name:
            case "key":
                return _binary(rows.key_ends, rows.keys, rows.key_valid, count)
            case "value":
                return _binary(rows.value_ends, rows.values, rows.value_valid, count)
            case "topic":
                return pa.repeat(self._topic, count)
            case "partition":
                return column(np.full(count, self._place.partition, dtype=np.int32), pa.int32())
            case "offset":
                return column(rows.offsets[:count], pa.int64())
            case "timestamp":
                return column(rows.times[:count] * 1000, FIELDS["timestamp"].type)
            case "timestampType":
                return column(rows.time_types(), pa.int32())
            case "_corrupt":
                return pa.nulls(count, pa.string())
            case _:
                return self._headers(rows, batches)

    def _headers(self, rows: _Rows, batches: Sequence[RecordBatch]) -> pa.Array:
        ends = np.zeros(rows.count + 1, dtype=np.int32)
        np.cumsum(rows.header_counts[: rows.count], out=ends[1:])
        total, size = int(ends[-1]), rows.payload_bytes
        name_ends, value_ends = np.zeros(total + 1, dtype=np.int32), np.zeros(total + 1, dtype=np.int32)
        names, values = np.empty(size if total else 0, dtype=np.uint8), np.empty(size if total else 0, dtype=np.uint8)
        valid = np.empty(total, dtype=np.uint8)
        done = 0
        for batch in batches if total else ():
            header = batch.header
            done, right = decode_headers(
                batch.payload, header.record_count, header.base_offset, self.first, self._end,
                done, name_ends, names, value_ends, values, valid,
            )  # fmt: skip
            if right != header.record_count:
                reason = f"a header of record {right} of {header.record_count} is damaged"
                raise DamagedBatch(self._place, header.base_offset, reason)
        name_buffers = [None, pa.py_buffer(name_ends), pa.py_buffer(names)]
        key_array = pa.Array.from_buffers(pa.string(), total, name_buffers)
        structs = pa.StructArray.from_arrays(
            [key_array, _binary(value_ends, values, valid, total)], fields=list(HEADERS.value_type)
        )
        # Spark's own source gives null, not an empty list, to records without headers.
        nulls = (
            None if total and (rows.header_counts[: rows.count] > 0).all() else rows.header_counts[: rows.count] == 0
        )
        array = pa.ListArray.from_arrays(column(ends, pa.int32()), structs, type=HEADERS)
        return array if nulls is None else _with_nulls(array, nulls)


class _Rows:
    """Arrays with room for all records of some batches, and their contents."""

    def __init__(self, batches: Sequence[RecordBatch], wanted: Sequence[str]) -> None:
        self._runs: list[tuple[int, int]] = []  # rows and their timestamp type
        room = sum(batch.header.record_count for batch in batches)
        self.payload_bytes = sum(len(batch.payload) for batch in batches)
        self.count = 0
        self.offsets: Longs = np.empty(room, dtype=np.int64)
        self.times: Longs = np.empty(room if "timestamp" in wanted else 0, dtype=np.int64)
        self.key_ends, self.keys, self.key_valid = _room(room, self.payload_bytes, "key" in wanted)
        self.value_ends, self.values, self.value_valid = _room(room, self.payload_bytes, "value" in wanted)
        self.header_counts: Ints = np.empty(room if "headers" in wanted else 0, dtype=np.int32)

    def add(self, batch: RecordBatch, first: int, end: int) -> int:
        """Decode a batch. Returns how many of its records were valid."""
        header = batch.header
        before = self.count
        self.count, right = decode(
            batch.payload, header.record_count, header.base_offset, header.base_timestamp,
            header.max_timestamp if header.is_log_append_time else -1, first, end, before,
            self.offsets, self.times, self.key_ends, self.keys, self.key_valid,
            self.value_ends, self.values, self.value_valid, self.header_counts,
        )  # fmt: skip
        self._runs.append((self.count - before, LOG_APPEND_TIME if header.is_log_append_time else CREATE_TIME))
        return int(right)

    def add_dense(self, first: int, end: int) -> None:
        count = max(0, end - first)
        self.offsets[self.count : self.count + count] = np.arange(first, first + count)
        self.count += count

    def time_types(self) -> Ints:
        counts, types = zip(*self._runs, strict=True) if self._runs else ((), ())
        return np.repeat(np.array(types, dtype=np.int32), np.array(counts, dtype=np.int64))


def _room(rows: int, size: int, is_wanted: bool) -> tuple[Ints, Bytes, Bytes]:
    """Room for a column of binaries: ends, bytes and validity."""
    if not is_wanted:
        return np.empty(0, dtype=np.int32), np.empty(0, dtype=np.uint8), np.empty(0, dtype=np.uint8)
    return np.zeros(rows + 1, dtype=np.int32), np.empty(size, dtype=np.uint8), np.empty(rows, dtype=np.uint8)


def _binary(ends: Ints, data: Bytes, valid: Bytes, count: int) -> pa.Array:
    bitmap = None if valid[:count].all() else pa.py_buffer(np.packbits(valid[:count], bitorder="little"))
    buffers = [bitmap, pa.py_buffer(ends[: count + 1]), pa.py_buffer(data[: int(ends[count])])]
    return pa.Array.from_buffers(pa.binary(), count, buffers)


def _with_nulls(array: pa.ListArray, nulls: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> pa.Array:
    bitmap = pa.py_buffer(np.packbits(~nulls, bitorder="little"))
    _, ends = array.buffers()[:2]
    return pa.Array.from_buffers(HEADERS, len(array), [bitmap, ends], children=[array.values])
