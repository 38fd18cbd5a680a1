"""A topic as a table: typed columns of the values, and columns with an underscore for the rest of a record.

    symbol  price   …  _key  _topic  _partition  _offset  _timestamp  _error                _raw
    ACME    12.5       …     prices  0           17       …           null                  null
    null    null       …     prices  0           18       …           price is no DOUBLE    {"price": "a lot"}

A bad row is in quarantine: its typed columns are null, `_error` has the reason and `_raw` the value.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from enum import Enum

import numpy as np
import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_type

from penstock_spark.arrays import Flags, Ints
from penstock_spark.errors import BadRow
from penstock_spark.reading.records.fields import FIELDS
from penstock_spark.reading.values.decoder import Decoder
from penstock_spark.reading.values.spans import without

logger = logging.getLogger(__name__)

OF_RECORD = {f"_{name}": name for name in FIELDS if name != "_corrupt"}
"""Columns of the record, by their names in a table."""
ERROR, RAW, CORRUPT = "_error", "_raw", "_corrupt"
EXTRA: dict[str, pa.Field] = {
    **{name: FIELDS[of].with_name(name) for name, of in OF_RECORD.items()},
    ERROR: pa.field(ERROR, pa.string()),
    RAW: pa.field(RAW, pa.binary()),
    CORRUPT: FIELDS[CORRUPT],
}
"""Columns that a table has beside those of its values."""
BY_DEFAULT = ("_key", "_topic", "_partition", "_offset", "_timestamp", ERROR, RAW)
SPARK_TYPES = {name: from_arrow_type(field.type) for name, field in EXTRA.items()}

_NO_KEY = "the record has no key"


class BadRows(Enum):
    QUARANTINE = "quarantine"
    FAIL = "fail"
    DROP = "drop"


@dataclass(frozen=True)
class Table:
    decoder: Decoder
    schema: pa.Schema
    """Columns of the decoder and of `EXTRA`, in the order of the table."""
    bad_rows: BadRows
    needs_key: bool = False
    shown: tuple[str, ...] | None = None
    """The columns that a query wants of the table; None: all. Which rows are bad does not depend on it."""

    @property
    def needed(self) -> tuple[str, ...]:
        """Columns of records from which the table is made."""
        shown = self._shown.names
        named = [OF_RECORD.get(name, name) for name in shown if name in OF_RECORD]
        damage = (CORRUPT,) if CORRUPT in self.schema.names else ()
        key = ("key",) if self.needs_key else ()
        decoded = ("value", "topic", "partition", "offset") if self._decodes else ()
        return tuple(dict.fromkeys((*named, *damage, *key, *decoded)))

    @property
    def _shown(self) -> pa.Schema:
        return self.schema if self.shown is None else pa.schema([self.schema.field(name) for name in self.shown])

    @property
    def _decodes(self) -> bool:
        """Whether values are looked at: for columns of theirs, or because a bad one fails the query or is left out."""
        of_values = any(name not in OF_RECORD and name != CORRUPT for name in self._shown.names)
        return of_values or self.bad_rows is not BadRows.QUARANTINE

    def rows(self, records: pa.RecordBatch) -> pa.RecordBatch:
        """The rows of a batch of records. BadRow if one is bad and bad rows fail the query."""
        shown = self._shown
        if not self._decodes:
            return pa.RecordBatch.from_arrays([_of_record(records, field) for field in shown], schema=shown)
        keyless: Flags = np.asarray(records.column("key").is_null()) if self.needs_key else np.zeros(len(records), bool)
        typed = self.decoder.decode(without(records.column("value"), keyless))
        errors = self._errors(records, typed.problems, keyless)
        columns = dict(zip(self.decoder.schema.names, typed.columns, strict=True))
        is_bad: Flags = np.asarray(errors.is_valid())
        if is_bad.any() and self.bad_rows is BadRows.FAIL:
            self._fail(records, errors, int(np.argmax(is_bad)))
        columns |= {ERROR: errors, RAW: _only(records.column("value"), is_bad)}
        arrays = [columns[field.name] if field.name in columns else _of_record(records, field) for field in shown]
        made = pa.RecordBatch.from_arrays(arrays, schema=shown)
        if is_bad.any() and self.bad_rows is BadRows.DROP:
            logger.warning("%s: %d bad rows are left out", _place(records, 0), int(is_bad.sum()))
            return made.filter(pa.array(~is_bad))
        return made

    def _errors(self, records: pa.RecordBatch, problems: Ints, keyless: Flags) -> pa.Array:
        reasons = [*self.decoder.reasons, _NO_KEY]
        problems[keyless] = len(reasons) - 1
        if CORRUPT in self.schema.names:
            damage = records.column(CORRUPT)
            if damage.null_count < len(damage):
                return damage
        return pa.array(reasons, pa.string()).take(pa.array(problems, mask=problems == 0))

    def _fail(self, records: pa.RecordBatch, errors: pa.Array, row: int) -> None:
        remedy = "badRows=quarantine gives such rows in the columns _error and _raw, badRows=drop leaves them out"
        raise BadRow(f"{_place(records, row)}: {errors[row].as_py()}. {remedy}.")


def _of_record(records: pa.RecordBatch, field: pa.Field) -> pa.Array:
    """A column of the record in the user's type: the type of `headers` may allow null keys, though none is null."""
    array = records.column(OF_RECORD.get(field.name, field.name))
    return array if array.type == field.type else array.cast(field.type)


def _only(array: pa.Array, which: Flags) -> pa.Array:
    """The values of the masked rows, null everywhere else."""
    if not which.any():
        return pa.nulls(len(array), array.type)
    return array.take(pa.array(np.arange(len(array)), mask=~which))


def _place(records: pa.RecordBatch, row: int) -> str:
    topic, partition, offset = (records.column(name)[row].as_py() for name in ("topic", "partition", "offset"))
    return f"{topic}-{partition} at offset {offset}"
