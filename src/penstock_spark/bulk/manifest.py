"""The manifest of an archive: one JSON file for each topic, replaced as a whole, so that it is always consistent.

DIR/topic=prices/date=2026-11-16/part-00000.parquet    what readers see
DIR/_penstock/prices.json                              the manifest; readers ignore names with an underscore
DIR/_penstock/prices.tmp/…                             files that are being written, without the suffix
DIR/_penstock/prices.lock                              held while a run writes

{"checksum": CRC-32C of the manifest's text, "manifest": {
   "version": 1, "archive_id": …, "topic": …, "topic_id": …, "cluster_id": …,
   "next_offsets": {"0": 1200},                        everything below is in the files
   "files": [{"path": …, "date": …, "rows": …, "size_bytes": …, "first_ms": …, "last_ms": …,
              "spans": {"0": [first offset, last offset, rows]}}],
   "pending": [[temporary path, path], …]}}            renames of the last commit, done or still to do
"""

from __future__ import annotations

import json
import os
import uuid
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from crc32c import crc32c

from penstock.bulk.errors import Damaged, Missing, Unfit
from penstock.bulk.topics import KnownTopic

VERSION = 1
OWN_DIRECTORY = "_penstock"


class Span(NamedTuple):
    """The offsets of one partition in a file, in order; there may be gaps."""

    first: int
    last: int
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveFile:
    path: str
    """The path within the archive; of a file that is not committed, its temporary path."""
    date: str
    rows: int
    size_bytes: int
    first_ms: int
    last_ms: int
    spans: dict[int, Span]


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    archive_id: str
    topic: str
    topic_id: str
    cluster_id: str
    next_offsets: dict[int, int] = field(default_factory=dict)
    files: dict[str, ArchiveFile] = field(default_factory=dict)
    pending: tuple[tuple[str, str], ...] = ()

    @property
    def rows(self) -> int:
        return sum(each.rows for each in self.files.values())

    @property
    def size_bytes(self) -> int:
        return sum(each.size_bytes for each in self.files.values())


def new_manifest(topic: KnownTopic) -> Manifest:
    return Manifest(archive_id=uuid.uuid4().hex, topic=topic.name, topic_id=topic.topic_id, cluster_id=topic.cluster_id)


class ManifestFile:
    """The file with the manifest of one topic."""

    def __init__(self, root: Path, topic: str) -> None:
        self.root, self.topic = root, topic
        self.directory = root / OWN_DIRECTORY
        self.path = self.directory / f"{topic}.json"
        self.temporary = self.directory / f"{topic}.tmp"
        self.lock = self.directory / f"{topic}.lock"

    def load(self) -> Manifest | None:
        """Load the manifest; None if there is none. Damaged if its checksum is wrong."""
        try:
            text = self.path.read_bytes()
        except FileNotFoundError:
            return None
        hint = "bring it back from a copy, or archive into another directory"
        try:
            document = json.loads(text)
            is_right = document["checksum"] == crc32c(_text(document["manifest"]))
            version = document["manifest"]["version"]
            if is_right and version == VERSION:
                return _from_json(document["manifest"])
        except (ValueError, KeyError, TypeError, AttributeError):
            is_right, version = False, None
        if is_right:
            raise Unfit(f"the manifest {self.path} is of version {version}, this program knows {VERSION}")
        raise Damaged(f"the manifest {self.path} is damaged", hint)

    def save(self, manifest: Manifest) -> None:
        """Replace the manifest; it is on disk when this returns."""
        document = _to_json(manifest)
        temporary = self.path.with_suffix(".json.new")
        with temporary.open("wb") as file:
            file.write(json.dumps({"checksum": crc32c(_text(document)), "manifest": document}).encode())
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(self.path)
        sync_directory(self.directory)

    def settle(self, manifest: Manifest) -> None:
        """Finish the renames of the last commit. The caller holds the lock."""
        touched = set()
        for temporary, path in manifest.pending:
            source, target = self.root / temporary, self.root / path
            if source.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                source.replace(target)
                touched.add(target.parent)
            elif not target.exists():
                raise Damaged(f"{target} is missing, which the manifest names", "bring it back from a copy")
        for directory in sorted({place for each in touched for place in (each, each.parent, self.root)}):
            sync_directory(directory)

    def is_settled(self, manifest: Manifest) -> bool:
        return not any((self.root / temporary).exists() for temporary, _ in manifest.pending)


def find_topic_of(root: Path, topic: str | None) -> str:
    """The topic of an archive, which need not be named if there is only one."""
    if not root.is_dir():
        raise Missing(f"there is no directory {root}")
    found = sorted(path.stem for path in (root / OWN_DIRECTORY).glob("*.json"))
    if not found:
        raise Missing(f"{root} is not an archive: it has no {OWN_DIRECTORY}/*.json", "`penstock archive` makes one")
    if topic is None and len(found) > 1:
        raise Unfit(f"{root} has the topics {', '.join(found)}", "name one with --source-topic")
    if topic is not None and topic not in found:
        raise Missing(f"{root} has no topic {topic}", f"it has {', '.join(found)}")
    return topic or found[0]


def sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def committed(manifest: Manifest, files: dict[str, ArchiveFile], **changes: Any) -> Manifest:
    """The next state, with these files added, or in place of those with the same path."""
    return replace(manifest, files={**manifest.files, **files}, **changes)


def _text(document: dict[str, Any]) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def _to_json(manifest: Manifest) -> dict[str, Any]:
    document = asdict(manifest)
    document["version"] = VERSION
    document["next_offsets"] = {str(index): offset for index, offset in manifest.next_offsets.items()}
    document["pending"] = [list(pair) for pair in manifest.pending]
    document["files"] = [
        {**asdict(each), "spans": {str(index): list(span) for index, span in each.spans.items()}}
        for each in manifest.files.values()
    ]
    return document


def _from_json(document: dict[str, Any]) -> Manifest:
    files = {}
    for each in document["files"]:
        spans = {int(index): Span(*span) for index, span in each["spans"].items()}
        files[each["path"]] = ArchiveFile(**{**each, "spans": spans})
    return Manifest(
        archive_id=document["archive_id"],
        topic=document["topic"],
        topic_id=document["topic_id"],
        cluster_id=document["cluster_id"],
        next_offsets={int(index): offset for index, offset in document["next_offsets"].items()},
        files=files,
        pending=tuple((temporary, path) for temporary, path in document["pending"]),
    )
