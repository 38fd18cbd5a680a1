"""Compilation of every loop that reading and writing may need: `python -m penstock_spark.precompile`.

A few rows go through each of them on the same paths as in queries, so that the cache has the variants that queries use.
"""

from __future__ import annotations

import datetime
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.model.batch import HEADER_BYTES, read_header
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.topic_partition import TopicPartition
from penstock_spark.arrays import sealed
from penstock_spark.avro import avro_schema, parse_avro
from penstock_spark.reading.records.batches import RecordBatch
from penstock_spark.reading.records.columns import ColumnBuilder
from penstock_spark.reading.records.fields import FIELDS
from penstock_spark.reading.records.time_kernel import least_time_delta
from penstock_spark.reading.tables.ddl import parse_ddl
from penstock_spark.reading.tables.inference import inferred_schema
from penstock_spark.reading.values.avro_values import AvroDecoder
from penstock_spark.reading.values.csv_values import CsvDecoder
from penstock_spark.reading.values.json_values import JsonDecoder
from penstock_spark.writing.encoding.avro_fields import avro_fields
from penstock_spark.writing.encoding.avro_values import avro_values
from penstock_spark.writing.encoding.encoder import Encoder
from penstock_spark.writing.encoding.outgoing import outgoing

_FLAT = "s STRING, i INT, l BIGINT, d DOUBLE, b BOOLEAN, n DECIMAL(20,3), day DATE, at TIMESTAMP, raw BINARY"
_NESTED = f"{_FLAT}, list ARRAY<STRING>, part STRUCT<x: DOUBLE, y: ARRAY<BIGINT>>, map MAP<STRING, BIGINT>"
_VALUES: dict[str, Any] = {
    "s": "a\n\u00e4", "i": 1, "l": 2, "d": 1.5, "b": True, "n": 1.25, "day": "2026-11-16",
    "at": "2026-11-16T01:02:03Z", "raw": "YQ==", "list": ["x", "y"], "part": {"x": 1.0, "y": [1]}, "map": {"k": 1},
}  # fmt: skip
_AVRO = "s STRING, i INT, l BIGINT, f FLOAT, d DOUBLE, b BOOLEAN, day DATE, at TIMESTAMP, raw BINARY"


def records() -> None:
    headers = (("h", b"1"), ("h", None))
    batch = build_batch([NewRecord(b"k", b"v", headers=headers), NewRecord(None, None)], timestamp=1)
    header = read_header(batch)
    payload = sealed(np.frombuffer(bytes(batch[HEADER_BYTES:]), dtype=np.uint8))
    ColumnBuilder(TopicPartition("t", 0), 0, 2, tuple(FIELDS)).build([RecordBatch(header, payload)])
    least_time_delta(payload, header.record_count)


def json_values() -> None:
    JsonDecoder(parse_ddl(_NESTED)).decode(pa.array([json.dumps(_VALUES).encode(), b"{", None], pa.binary()))


def csv_values() -> None:
    flat = parse_ddl(_FLAT)
    line = ",".join(str(_VALUES[name]).strip() for name in flat.names)
    CsvDecoder(flat, flat, ",").decode(pa.array([line.encode(), b'"x""y",', None], pa.binary()))
    inferred_schema(pa.array([line.encode()], pa.binary()), "csv", ",")


def avro() -> None:
    """Compile reading and writing of Avro, and the reading of nested types, which only other programs write."""
    flat = parse_ddl(_AVRO)
    now = datetime.datetime(2026, 11, 16, tzinfo=datetime.UTC)
    row = {"s": "a", "i": 1, "l": 2, "f": 0.5, "d": 1.5, "b": True, "day": now.date(), "at": now, "raw": b"r"}
    types = {"i": pa.int32(), "f": pa.float32(), "at": pa.timestamp("us", tz="UTC")}
    columns = {name: pa.array([value, None], types.get(name)) for name, value in row.items()}
    values = avro_values(pa.record_batch(columns), avro_fields(flat, None))
    AvroDecoder(parse_avro(avro_schema(flat)), flat).decode(values)
    kinds = [
        {"type": "array", "items": "string"},
        {"type": "map", "values": "long"},
        {"type": "enum", "name": "e", "symbols": ["A"]},
        {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2},
        {"type": "fixed", "name": "f", "size": 2},
    ]
    fields = [{"name": f"c{index}", "type": kind} for index, kind in enumerate(kinds)]
    nested = parse_avro(json.dumps({"type": "record", "name": "r", "fields": fields}))
    AvroDecoder(nested, nested.spark).decode(pa.array([b"\2\2x\0\2\2k\2\0\0\2\1ab", b""], pa.binary()))  # type: ignore[arg-type]


def writing() -> None:
    rows = {"key": pa.array([b"k", None]), "value": pa.array([b"v", b"w"])}
    list(Encoder(lambda _: {"t": 2}, 0, 0).encode(outgoing(rows, 2, "t")))


PARTS: dict[str, Callable[[], None]] = {
    "records": records,
    "JSON": json_values,
    "CSV": csv_values,
    "Avro": avro,
    "writing": writing,
}


def main() -> None:
    for name, part in PARTS.items():
        started = time.perf_counter()
        part()
        sys.stdout.write(f"compiled: {name}, {time.perf_counter() - started:.1f} s\n")


if __name__ == "__main__":
    main()
