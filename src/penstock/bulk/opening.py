"""The source of a file: by its first bytes, by its suffix, or by an option."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from penstock.bulk.csv_source import CsvSource
from penstock.bulk.errors import Missing, Unfit
from penstock.bulk.json_source import JsonLinesSource
from penstock.bulk.rows import Source
from penstock.bulk.sqlite_source import SqliteSource

FORMATS = ("sqlite", "csv", "jsonl", "parquet")
_MAGIC = {b"SQLite format 3\0": "sqlite", b"PAR1": "parquet"}
SUFFIXES = {
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".db": "sqlite",
    ".sqlite": "sqlite",
    ".sqlite3": "sqlite",
}
_PACKED = {".gz": "gunzip -k", ".bz2": "bunzip2 -k", ".xz": "unxz -k", ".zst": "zstd -d", ".zip": "unzip"}


class Reading(NamedTuple):
    """The user's options for reading a file."""

    format: str | None = None
    table: str | None = None
    query: str | None = None
    delimiter: str | None = None
    columns: tuple[str, ...] | None = None


def format_of(path: Path, named: str | None) -> str:
    if named is not None:
        return named
    if not path.exists():
        raise Missing(f"file {path} does not exist")
    if path.is_dir():
        raise Unfit(f"{path} is a directory", "name one file; directories are read with --spark")
    with path.open("rb") as file:
        start = file.read(16)
    for magic, kind in _MAGIC.items():
        if start.startswith(magic):
            return kind
    suffix = path.suffix.lower()
    if suffix in _PACKED:
        raise Unfit(f"{path} is packed, so that a restart could not find its place", f"unpack it: {_PACKED[suffix]}")
    if suffix not in SUFFIXES:
        raise Unfit(f"the format of {path} is not clear from its name", f"give --format {'|'.join(FORMATS)}")
    return SUFFIXES[suffix]


def open_source(path: Path, reading: Reading, open_parquet: Callable[[Path], Source]) -> Source:
    """Open the source of a file. `open_parquet` is passed in, since it needs optional libraries."""
    kind = format_of(path, reading.format)
    if kind != "sqlite" and (reading.table or reading.query):
        raise Unfit(f"--table and --query are for databases, and {path} is {kind}")
    if kind != "csv" and (reading.delimiter or reading.columns):
        raise Unfit(f"--delimiter and --columns are for CSV, and {path} is {kind}")
    if kind == "sqlite":
        return SqliteSource(path, table=reading.table, query=reading.query)
    if kind == "csv":
        delimiter = reading.delimiter or ("\t" if path.suffix.lower() == ".tsv" else ",")
        return CsvSource(path, delimiter=delimiter, columns=reading.columns)
    return open_parquet(path) if kind == "parquet" else JsonLinesSource(path)
