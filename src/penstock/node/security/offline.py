"""The metadata of a node that is not running, for changes before its first start or while it is stopped."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from penstock.runtime.files import RealFiles
from penstock.storage.data_directory import DataDirectory
from penstock.storage.lock import DirectoryLock
from penstock.storage.metadata.store import MetadataStore


@contextmanager
def offline_metadata(data_dir: Path) -> Iterator[MetadataStore]:
    """Open meta.db under the directory's lock, and make both if need be.

    DataDirectoryError, with a message for people, if the directory cannot be used or its node is running.
    """
    data = DataDirectory(RealFiles(), data_dir)
    data.create()
    lock = DirectoryLock(data.lock)
    try:
        data.adopt()
        store = MetadataStore(data.metadata, must_exist=data.has_records())
        try:
            yield store
        finally:
            store.close()
    finally:
        lock.release()
