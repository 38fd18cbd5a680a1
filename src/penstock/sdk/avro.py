"""Avro as a format: one record as Avro writes it, with no header. Needs fastavro: `pip install 'penstock[avro]'`.

A reader has to know the schema that a record was written with; `reader_schema` is the one to convert it to, by Avro's
rules of evolution. Topics of this kind are tables for Spark, too (`valueFormat=avro`).
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from penstock.sdk.errors import SettingsError

Schema: TypeAlias = Mapping[str, Any] | str


class Avro:
    """`Avro({"type": "record", …})`, or the same as a JSON string."""

    def __init__(self, schema: Schema, *, reader_schema: Schema | None = None) -> None:
        self._fastavro = _library()
        self._schema = self._parsed(schema)
        self._reader_schema = None if reader_schema is None else self._parsed(reader_schema)

    def _parsed(self, schema: Schema) -> Any:
        try:
            return self._fastavro.parse_schema(json.loads(schema) if isinstance(schema, str) else schema)
        except Exception as error:  # fastavro raises many types for a wrong schema
            hint = "give an Avro schema, as a dict or as JSON"
            raise SettingsError(f"not an Avro schema ({type(error).__name__}: {error})", hint=hint) from error

    def serialize(self, value: Mapping[str, Any]) -> bytes:
        """Encode a record. ValidationError of fastavro for values that the schema refuses."""
        self._fastavro.validation.validate(value, self._schema)
        out = io.BytesIO()
        self._fastavro.schemaless_writer(out, self._schema, value, strict_allow_default=True)
        return out.getvalue()

    def deserialize(self, data: bytes) -> dict[str, Any]:
        """Decode a record. ValueError and others for bytes that are not a record of the schema."""
        stream = io.BytesIO(data)
        found: dict[str, Any] = self._fastavro.schemaless_reader(stream, self._schema, self._reader_schema)
        left = len(data) - stream.tell()
        if left:
            raise ValueError(f"{left} bytes are left over after the record")
        return found


def _library() -> Any:
    try:
        import fastavro
        import fastavro.validation
    except ImportError as error:
        raise SettingsError("Avro needs fastavro", hint="pip install 'penstock[avro]'") from error
    return fastavro
