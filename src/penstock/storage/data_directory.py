"""The data directory as a whole: whose it is, which version wrote it, where things are, whether it stopped
cleanly.

    DATA/penstock.lock   flock of the process that uses it (storage.lock)
    DATA/format.json     {"penstock": 1}: ours, and the version of this layout
    DATA/meta.db         storage.metadata, the truth that segments cannot give back
    DATA/catalog.db      storage.catalog, derived
    DATA/clean           there only between a clean stop and the next start
    DATA/reserve         space given back when the disk is full (storage.disk_watch)
    DATA/topics/<name>/<topic id, 32 hex digits>/<partition>/…
    DATA/trash/<uuid>    what is being deleted (storage.trash)

Everything wrong with it is a `DataDirectoryError` whose message names the fix; the command line prints it as
it is.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator
from pathlib import Path

from penstock.model.ids import PartitionId, TopicId
from penstock.runtime.files import Files
from penstock.runtime.private_files import warn_if_shared

FORMAT_VERSION = 1
# Left behind by file systems, tools and a start that was cut short; a directory with only these counts as empty.
_HARMLESS = {"lost+found", ".gitkeep", ".DS_Store", "penstock.lock", "format.json.tmp"}


class DataDirectoryError(Exception):
    """The data directory cannot be used as it is."""


class DirectoryNotWritable(DataDirectoryError):
    pass


class DirectoryNotOurs(DataDirectoryError):
    pass


class DirectoryFromNewerVersion(DataDirectoryError):
    pass


class DirectoryLocked(DataDirectoryError):
    """Another process has it; `pid` is that process, if it said."""

    def __init__(self, message: str, pid: int | None) -> None:
        super().__init__(message)
        self.pid = pid


class DataDirectory:
    """Paths inside DATA, and the checks before anything in it is touched."""

    def __init__(self, files: Files, root: Path) -> None:
        self.files = files
        self.root = root
        self.topics = root / "topics"
        self.trash = root / "trash"
        self.metadata = root / "meta.db"
        self.catalog = root / "catalog.db"
        self.lock = root / "penstock.lock"
        self.reserve = root / "reserve"
        self._format = root / "format.json"
        self._clean = root / "clean"

    def partition(self, topic: str, partition: PartitionId) -> Path:
        return self.topics / topic / partition.topic_id.hex / str(partition.partition)

    def topic(self, topic: str, topic_id: TopicId) -> Path:
        return self.topics / topic / topic_id.hex

    def create(self) -> None:
        """Make the directory if it is missing, so that it can be locked. Nothing else is written yet."""
        try:
            self.files.make_directories(self.root)
            names = self.files.list_names(self.root)
        except NotADirectoryError as error:
            raise DirectoryNotOurs(f"{self.root} is not a directory; choose another --data-dir") from error
        except FileExistsError as error:
            raise DirectoryNotOurs(f"{self.root} is not a directory; choose another --data-dir") from error
        except OSError as error:
            raise self._not_writable(error) from error
        if not os.access(self.root, os.W_OK | os.X_OK):
            raise self._not_writable(PermissionError(13, "permission denied"))
        if self._format.name not in names and not _HARMLESS.issuperset(names):
            raise DirectoryNotOurs(
                f"{self.root} holds files but no {self._format.name}, so it is not a Penstock data directory;"
                " choose an empty or a new --data-dir"
            )

    def adopt(self) -> None:
        """Check the version, or mark an empty directory as ours; make the fixed directories. Needs the lock."""
        try:
            if self.files.exists(self._format):
                self._check_version()
            else:
                document = json.dumps({"penstock": FORMAT_VERSION, "batches": "kafka record batch v2"})
                self.files.write_durably(self._format, document.encode() + b"\n")
            warn_if_shared(self.root)
            self.files.make_directories(self.topics)
            self.files.make_directories(self.trash)
        except OSError as error:
            raise self._not_writable(error) from error

    def has_records(self) -> bool:
        """Whether some partition has files: then there was a metadata store, and there has to be one."""
        return any(
            self._inside(partition) for directory in self.topic_directories() for partition in self._inside(directory)
        )

    def topic_directories(self) -> Iterator[Path]:
        """DATA/topics/<name>/<topic id> of every topic that has one."""
        for named in self._inside(self.topics):
            yield from self._inside(named)

    def _inside(self, directory: Path) -> list[Path]:
        """The entries of a directory; none if a stray file is there instead."""
        try:
            return [directory / name for name in self.files.list_names(directory)]
        except NotADirectoryError:
            return []

    def was_stopped_cleanly(self) -> bool:
        return self.files.exists(self._clean)

    def mark_running(self) -> None:
        """Remove the clean marker, durably, before the first change."""
        if self.files.exists(self._clean):
            self.files.remove(self._clean)
            self.files.sync_directory(self.root)

    def mark_clean(self) -> None:
        self.files.write_durably(self._clean, b"stopped cleanly\n")

    def new_trash(self) -> Path:
        """A name for something to be renamed into the trash."""
        return self.trash / uuid.uuid4().hex

    def _check_version(self) -> None:
        try:
            document = json.loads(self.files.read_bytes(self._format))
            version = int(document["penstock"])
        except (ValueError, KeyError, TypeError) as error:
            raise DirectoryNotOurs(
                f"{self._format} is not one that Penstock wrote; choose another --data-dir"
            ) from error
        if version > FORMAT_VERSION:
            raise DirectoryFromNewerVersion(
                f"{self.root} was written by a newer Penstock (format {version}, this one knows"
                f" {FORMAT_VERSION}); start that version, or a newer one"
            )

    def _not_writable(self, error: OSError) -> DirectoryNotWritable:
        reason = error.strerror or str(error)
        return DirectoryNotWritable(
            f"{self.root} is not writable ({reason}); change its owner or mode, or choose another --data-dir"
        )
