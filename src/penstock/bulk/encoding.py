"""Encoding of rows as records: key, value and time.

    json         the row as a JSON object; of a line that is JSON already, the line itself
    csv          the row as a line of CSV; of a CSV file, the line itself
    column:NAME  one column alone, bytes as they are and anything else as text

A row that does not fit raises ValueError with the reason: it is a bad row.
"""

from __future__ import annotations

import base64
import csv
import io
import json
import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from json.encoder import encode_basestring
from typing import Any, NamedTuple

from penstock.bulk.errors import Missing, Unfit
from penstock.bulk.rows import Row, Source
from penstock.model.batch_builder import NewRecord

_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_COLUMN = "column:"
TIME_MS_MAX = (1 << 63) - 1

Cell = Callable[[Row], Any]
Encode = Callable[[Row], NewRecord]


class Shape(NamedTuple):
    """The columns of a row that become key, value and headers."""

    value: str = "json"
    key: str | None = None
    timestamp: str | None = None
    numbers: tuple[str, ...] = ()
    """Columns of a CSV file that are numbers in the JSON."""


def encoder(source: Source, shape: Shape) -> Encode:
    """The function that encodes rows. Unfit or Missing if the shape does not fit the source."""
    value_of = _value(source, shape)
    key_cell = None if shape.key is None else _cell(source, shape.key)
    time_cell = None if shape.timestamp is None else _cell(source, shape.timestamp)

    def encode(row: Row) -> NewRecord:
        key = None if key_cell is None else to_bytes(key_cell(row))
        time_ms = None if time_cell is None else to_time_ms(time_cell(row))
        return NewRecord(key, value_of(row), (), time_ms)

    return encode


def _cell(source: Source, name: str) -> Cell:
    if source.columns is None:
        return lambda row: _field(row, name)
    if name not in source.columns:
        raise Missing(f"{source.name} has no column {name}", f"it has {', '.join(source.columns)}")
    index = source.columns.index(name)
    return lambda row: row.cells[index]  # type: ignore[index]


def _field(row: Row, name: str) -> Any:
    if not isinstance(row.cells, dict) or name not in row.cells:
        raise ValueError(f"has no field {name}")
    return row.cells[name]


# --- values ----------------------------------------------------------------------------------------------------------


def _value(source: Source, shape: Shape) -> Callable[[Row], bytes | None]:
    if shape.numbers and (source.kind != "csv" or shape.value != "json"):
        raise Unfit("--number is for CSV files that become JSON")
    if shape.value.startswith(_COLUMN):
        cell = _cell(source, shape.value.removeprefix(_COLUMN))
        return lambda row: to_bytes(cell(row))
    if shape.value == "csv":
        if source.columns is None:
            raise Unfit(f"the rows of {source.name} have no fixed columns for CSV", "use --value json")
        return _raw if source.kind == "csv" else lambda row: _csv_line(row.cells)
    if shape.value != "json":
        raise Unfit(f"--value {shape.value} is none of json, csv and column:NAME")
    return _raw if source.columns is None else _json_object(source, shape.numbers)


def _raw(row: Row) -> bytes:
    row.raw.decode()  # UnicodeDecodeError is a ValueError
    return row.raw.rstrip(b"\r\n")


def _json_object(source: Source, numbers: tuple[str, ...]) -> Callable[[Row], bytes]:
    """An encoder of objects in which names are encoded once, in a template: three times as fast as json.dumps."""
    columns = source.columns or ()
    for name in numbers:
        _cell(source, name)
    names = [encode_basestring(name).replace("%", "%%") for name in columns]
    template = "{" + ",".join(f"{name}:%s" for name in names) + "}"
    places = [columns.index(name) for name in numbers]

    def text(row: Row) -> bytes:
        """Encode a row of CSV, whose cells are all text."""
        texts: list[str] = list(row.cells)
        cells = list(map(encode_basestring, texts))
        for index in places:
            cells[index] = _number(columns[index], texts[index])
        return (template % tuple(cells)).encode()

    def typed(row: Row) -> bytes:
        return (template % tuple(map(_json, row.cells))).encode()

    return text if source.kind == "csv" else typed


def _json(value: Any) -> str:
    if type(value) is str:
        return encode_basestring(value)
    if type(value) is int:
        return str(value)
    return "null" if value is None else _DUMP(value)


def _number(name: str, text: str) -> str:
    """A number as it is written if that is JSON; an empty cell is null."""
    stripped = text.strip()
    if _NUMBER.fullmatch(stripped):
        return stripped
    if not stripped:
        return "null"
    try:
        if "_" not in stripped:  # Python would take it
            return _DUMP(float(stripped))
    except ValueError:
        pass
    raise ValueError(f"has {text!r} in {name}, which is not a number")


def _csv_line(cells: Any) -> bytes:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(["" if each is None else _text(each) for each in cells])
    return line.getvalue().encode()


def _foreign(value: Any) -> Any:
    """Values without a form in JSON: bytes as base64, times in ISO 8601, decimals and the rest as text."""
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(value).decode()
    return value.isoformat() if isinstance(value, date) else str(value)


_DUMP = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_foreign).encode


# --- cells -----------------------------------------------------------------------------------------------------------


def to_bytes(value: Any) -> bytes | None:
    if value is None:
        return None
    return bytes(value) if isinstance(value, bytes | bytearray) else _text(value).encode()


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool | dict | list | bytes):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_foreign)
    return value.isoformat() if isinstance(value, date) else str(value)


def to_time_ms(value: Any) -> int:
    """Milliseconds since 1970, as a number or as text, or a date and time in ISO 8601; without a zone it is UTC."""
    given = value
    if isinstance(value, str):
        value = _parsed_time(value.strip())
    if isinstance(value, datetime):
        aware = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        return round(aware.timestamp() * 1000)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= TIME_MS_MAX:
        raise ValueError(f"has {given!r} as its time, which is neither ISO 8601 nor milliseconds since 1970")
    return value


def _parsed_time(text: str) -> datetime | int | None:
    if text.isdecimal():
        return int(text)
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None
