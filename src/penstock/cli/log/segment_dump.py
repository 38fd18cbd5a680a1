"""Readable contents of segments: a line per batch, optionally per record, and per aborted transaction of the index.

Bad bytes do not end a dump: they are shown as such, and reading continues at the next whole batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock.cli.kafka.message_text import shown, text_fields
from penstock.storage.layout import DIGITS, LOG

if TYPE_CHECKING:
    from penstock.model.batch import BatchHeader
    from penstock.runtime.files import File

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
COLUMNS = ("offsets", "position", "bytes", "records", "codec", "time", "epoch", "producer", "notes")
_WIDTHS = (22, 11, 9, 8, 7, 25, 6, 18, 0)


class Entry(NamedTuple):
    """A batch, a record, bad bytes or an aborted transaction, as `kind` says. Keys, values and headers are bytes."""

    kind: str
    fields: dict[str, Any]


def segment_files(directory: Path) -> list[Path]:
    return sorted(path for path in directory.glob(f"*{LOG}") if is_segment_name(path))


def is_segment_name(path: Path) -> bool:
    return path.suffix == LOG and path.stem.isdecimal() and len(path.stem) == DIGITS


def is_segment(path: Path) -> bool:
    """Recognise a segment by its name, even if its contents are damaged, or by a whole batch in it."""
    from penstock.runtime.files import RealFiles
    from penstock.storage.segment.batch_scanner import find_batch

    if is_segment_name(path):
        return True
    file = RealFiles().open(path, write=False)
    try:
        return find_batch(file, 0, file.size(), min_offset=0) is not None
    finally:
        file.close()


def entries(path: Path, first_offset: int, records: bool) -> Iterator[Entry]:
    """Yield everything in one segment from an offset on."""
    from penstock.runtime.files import RealFiles
    from penstock.storage.segment.batch_scanner import BatchScanner, ExpectedOffsets, find_batch

    file = RealFiles().open(path, write=False)
    try:
        size = file.size()
        position, offset = 0, 0
        while position < size:
            scanner = BatchScanner(
                file, position, size, ExpectedOffsets(offset), verify=True, allows_preallocation=True
            )
            for at, header in scanner:
                if header.last_offset >= first_offset:
                    yield from _batch(path, file, at, header, first_offset, records)
            position, offset = scanner.position, scanner.next_offset
            if scanner.reason is None:
                return
            following = find_batch(file, position + 1, size, min_offset=offset)
            end = size if following is None else following
            bad = {"file": path.name, "position": position, "bytes": end - position, "reason": scanner.reason}
            yield Entry("bad", bad)
            position = end
    finally:
        file.close()


def aborted_transactions(path: Path, first_offset: int) -> Iterator[Entry]:
    """Yield the entries of the index beside a segment, if any. A bad index is not damage: it can be rebuilt."""
    from penstock.storage.segment.aborted_index import decode_aborted_index

    index = path.with_suffix(".txnindex")
    try:
        found = decode_aborted_index(index.read_bytes())
    except FileNotFoundError:
        return
    except ValueError as error:
        yield Entry("index", {"file": index.name, "reason": str(error)})
        return
    for entry in found:
        if entry.last_offset >= first_offset:
            yield Entry("aborted", {"file": index.name, **entry._asdict()})


def _marker(batch: bytes, header: BatchHeader) -> dict[str, Any]:
    """Describe the marker in a control batch; empty if the batch holds no marker."""
    from penstock.model.control_record import parse_marker
    from penstock.model.errors import KafkaError

    try:
        marker = parse_marker(batch, header)
    except KafkaError:
        return {}
    if marker is None:
        return {}
    return {"marker": "commit" if marker.is_commit else "abort", "coordinator_epoch": marker.coordinator_epoch}


def _batch(
    path: Path, file: File, position: int, header: BatchHeader, first_offset: int, records: bool
) -> Iterator[Entry]:
    from penstock.model.errors import KafkaError
    from penstock.model.records import batch_records

    marker = _marker(file.pread(header.size_bytes, position), header) if header.is_control else {}
    yield Entry("batch", {"file": path.name, "position": position, **_header_fields(header), **marker})
    if not records:
        return
    try:
        for record in batch_records(file.pread(header.size_bytes, position), header):
            if record.offset >= first_offset:
                yield Entry(
                    "record",
                    {
                        "offset": record.offset,
                        "timestamp": record.timestamp,
                        "key": record.key,
                        "value": record.value,
                        "headers": record.headers,
                    },
                )
    except KafkaError as error:
        yield Entry("bad", {"file": path.name, "position": position, "bytes": header.size_bytes, "reason": str(error)})


def _header_fields(header: BatchHeader) -> dict[str, Any]:
    flags = {
        "transactional": header.is_transactional,
        "control": header.is_control,
        "log_append_time": header.is_log_append_time,
        "delete_horizon": header.has_delete_horizon,
    }
    return {
        "first_offset": header.base_offset,
        "last_offset": header.last_offset,
        "bytes": header.size_bytes,
        "records": header.record_count,
        "codec": CODECS[header.codec] if header.codec < len(CODECS) else str(header.codec),
        "max_timestamp": header.max_timestamp,
        "leader_epoch": header.leader_epoch,
        "producer_id": header.producer_id,
        "producer_epoch": header.producer_epoch,
        "base_sequence": header.base_sequence,
        "crc": f"{header.crc:08x}",
        "flags": [name for name, is_set in flags.items() if is_set],
    }


def heading() -> str:
    return _line(COLUMNS)


def _one_line(text: object) -> str:
    """Escape line breaks and other characters that would move the cursor."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(text))


def json_fields(entry: Entry) -> dict[str, Any]:
    """Format an entry for programs, with keys and values as in `penstock consume --output json`."""
    if entry.kind != "record":
        return entry.fields
    fields = entry.fields
    return {
        "offset": fields["offset"],
        "timestamp": fields["timestamp"],
        **text_fields("key", fields["key"]),
        **text_fields("value", fields["value"]),
        "headers": [[name, shown(value)] for name, value in fields["headers"]],
    }


def text_line(entry: Entry) -> str:
    """Format an entry for people."""
    fields = entry.fields
    if entry.kind == "bad":
        return f"!! {fields['bytes']} bad bytes at {fields['position']}: {fields['reason']}"
    if entry.kind == "record":
        key = "" if fields["key"] is None else f" key={_one_line(shown(fields['key']))}"
        headers = "".join(f" {name}={_one_line(shown(value))}" for name, value in fields["headers"])
        value = "null" if fields["value"] is None else _one_line(shown(fields["value"]))
        return f"    {fields['offset']} {_moment(fields['timestamp'])}{key}{headers} value={value}"
    if entry.kind == "index":
        return f"{fields['file']}: {fields['reason']}; it is rebuilt when used"
    if entry.kind == "aborted":
        return (
            f"aborted: producer {fields['producer_id']}, offsets {fields['first_offset']} to {fields['last_offset']}, "
            f"last stable offset {fields['last_stable']}"
        )
    producer = "-"
    if fields["producer_id"] >= 0:
        producer = f"{fields['producer_id']}/{fields['producer_epoch']} seq {fields['base_sequence']}"
    cells = (
        f"{fields['first_offset']}-{fields['last_offset']}",
        fields["position"],
        fields["bytes"],
        fields["records"],
        fields["codec"],
        _moment(fields["max_timestamp"]),
        fields["leader_epoch"],
        producer,
        ",".join([*fields["flags"], *([fields["marker"]] if "marker" in fields else [])]),
    )
    return _line(cells)


def _line(cells: tuple[Any, ...]) -> str:
    return " ".join(f"{cell!s:<{width}}" for cell, width in zip(cells, _WIDTHS, strict=True)).rstrip()


def _moment(timestamp_ms: int) -> str:
    """Format a timestamp; clients may write any number, and one outside all dates is shown as it is."""
    try:
        return (
            datetime.fromtimestamp(timestamp_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        )
    except (ValueError, OverflowError, OSError):
        return str(timestamp_ms)
