"""The columns of a record, as in Spark's Kafka source. Light to import: nothing is compiled here."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

HEADERS = pa.list_(
    pa.field("element", pa.struct([pa.field("key", pa.string(), False), pa.field("value", pa.binary())]))
)
FIELDS: dict[str, pa.Field] = {
    field.name: field
    for field in (
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("topic", pa.string()),
        pa.field("partition", pa.int32()),
        pa.field("offset", pa.int64()),
        pa.field("timestamp", pa.timestamp("us", tz="UTC")),
        pa.field("timestampType", pa.int32()),
        pa.field("headers", HEADERS),
        pa.field("_corrupt", pa.string()),
    )
}
"""The columns in the order of Spark's own source, which has all but the last: why a batch could not be decoded."""


def arrow_schema(names: Sequence[str]) -> pa.Schema:
    return pa.schema([FIELDS[name] for name in names])
