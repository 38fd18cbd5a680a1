"""What a path given to `penstock log` means: a data directory, one partition's directory, or a segment file.

What only the metadata store knows (where a log starts, whether it is compacted) is looked up there, read-only, if the
directory is part of a data directory.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from penstock.cli.terminal.errors import CommandError, ExitCode, not_found

OFFSETS_TOPIC = "__consumer_offsets"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One partition's directory, and what the metadata say about it."""

    directory: Path
    topic: str
    partition: int
    log_start: int | None = None
    compacted: bool = False

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.partition}"


def find_targets(path: Path, topic: str | None, partition: int | None) -> list[Target]:
    """The partitions that a command is about, in order."""
    if not path.exists():
        raise CommandError(f"{path} does not exist", ExitCode.NOT_FOUND, hint="give a data or partition directory")
    root = data_root(path)
    if path.is_dir() and root is not None and path.resolve() == root:
        found = _partitions(root)
    elif path.is_dir() and any(path.glob("*.log")):
        found = [identify(path)]
    else:
        raise CommandError(
            f"{path} is neither a data directory nor a partition's directory", ExitCode.NOT_FOUND, hint="see --help"
        )
    chosen = [t for t in found if topic in (None, t.topic) and partition in (None, t.partition)]
    if topic is not None and not chosen:
        wanted = topic if partition is None else f"{topic}-{partition}"
        known = {t.topic if partition is None else t.name for t in found}
        raise not_found("partition" if partition is not None else "topic", wanted, known, f"it has nothing in {path}")
    return _with_metadata(chosen, root)


def data_root(path: Path) -> Path | None:
    """The data directory that a path is or lies in."""
    resolved = path.resolve()
    for candidate in (resolved, *resolved.parents):
        if (candidate / "format.json").is_file() and (candidate / "topics").is_dir():
            return candidate
    return None


def _partitions(root: Path) -> list[Target]:
    directories = [d for d in (root / "topics").glob("*/*/*") if d.is_dir() and d.name.isdecimal()]
    return sorted((identify(d) for d in directories), key=lambda target: (target.topic, target.partition))


def identify(directory: Path) -> Target:
    """DATA/topics/<topic>/<topic id>/<partition>; a directory copied elsewhere is known by its own name."""
    resolved = directory.resolve()
    number = int(resolved.name) if resolved.name.isdecimal() else 0
    topic = resolved.parent.parent.name if resolved.name.isdecimal() else resolved.name
    return Target(directory=directory, topic=topic, partition=number, compacted=topic == OFFSETS_TOPIC)


def _with_metadata(targets: list[Target], root: Path | None) -> list[Target]:
    from penstock.model.ids import PartitionId
    from penstock.storage.metadata.schema import MetadataError
    from penstock.storage.metadata.store import MetadataStore

    if root is None or not (root / "meta.db").is_file():
        return targets
    try:
        store = MetadataStore(root / "meta.db", read_only=True)
    except MetadataError as error:
        raise CommandError(str(error)) from error
    try:
        starts, configs = store.log_starts(), store.all_configs()
    finally:
        store.close()
    known = []
    for target in targets:
        with contextlib.suppress(ValueError):
            topic_id = uuid.UUID(target.directory.resolve().parent.name)
            policy = configs.get(("topic", target.topic), {}).get("cleanup.policy", "")
            target = Target(
                directory=target.directory,
                topic=target.topic,
                partition=target.partition,
                log_start=starts.get(PartitionId(topic_id, target.partition), 0),
                compacted=target.compacted or "compact" in policy,
            )
        known.append(target)
    return known


def is_in_use(root: Path) -> bool:
    """Whether a broker has the directory open at this moment."""
    try:
        fd = os.open(root / "penstock.lock", os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False


@contextlib.contextmanager
def exclusive(root: Path | None) -> Iterator[None]:
    """Keep brokers out while something is changed."""
    from penstock.storage.data_directory import DataDirectoryError
    from penstock.storage.lock import DirectoryLock

    if root is None:
        yield
        return
    try:
        lock = DirectoryLock(root / "penstock.lock")
    except DataDirectoryError as error:
        raise CommandError(str(error)) from error
    try:
        yield
    finally:
        lock.release()
