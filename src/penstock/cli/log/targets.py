"""The partitions that a path given to `penstock log` stands for: those of a data directory, or a single one.

Where a log starts and whether it is compacted is known to the metadata store only. Both are looked up there, read-only,
if the directory is part of a data directory.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from penstock.cli.log.segment_dump import segment_files
from penstock.cli.terminal.errors import CommandError, ExitCode, not_found

OFFSETS_TOPIC = "__consumer_offsets"
EXPECTED = (
    "give the directory that `penstock serve --data-dir` writes (it holds format.json and topics),"
    " or the directory of one partition, with segments such as 00000000000000000000.log"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The directory of a partition, with what the metadata store says about it."""

    directory: Path
    topic: str
    partition: int
    log_start: int | None = None
    compacted: bool = False

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.partition}"


def find_targets(path: Path, topic: str | None, partition: int | None) -> list[Target]:
    """Return the partitions that a command is about, ordered by topic and number."""
    if not path.exists():
        raise CommandError(f"{path} does not exist", ExitCode.NOT_FOUND, hint=EXPECTED)
    root = data_root(path)
    found = _targets_at(path, root)
    chosen = [t for t in found if topic in (None, t.topic) and partition in (None, t.partition)]
    if not chosen and (topic is not None or partition is not None):
        raise _missing(path, topic, partition, found)
    return _with_metadata(chosen, root)


def _targets_at(path: Path, root: Path | None) -> list[Target]:
    if path.is_dir() and root is not None and path.resolve() == root:
        return _partitions(root)
    if path.is_dir() and (segment_files(path) or _is_partition_of(path, root)):
        return [identify(path)]
    problem = f"{path} is neither a data directory of Penstock nor the directory of a partition"
    raise CommandError(problem, ExitCode.USAGE, hint=EXPECTED)


def _is_partition_of(path: Path, root: Path | None) -> bool:
    """Return whether the path is DATA/topics/TOPIC/ID/PARTITION: such a directory counts even without segments."""
    if root is None or not path.name.isdecimal():
        return False
    return path.resolve().parent.parent.parent == root / "topics"


def _missing(path: Path, topic: str | None, partition: int | None, found: list[Target]) -> CommandError:
    if topic is None:
        return CommandError(f"no topic in {path} has a partition {partition}", ExitCode.NOT_FOUND)
    wanted = topic if partition is None else f"{topic}-{partition}"
    known = {t.topic if partition is None else t.name for t in found}
    return not_found("topic" if partition is None else "partition", wanted, known, f"{path} holds nothing of it")


def data_root(path: Path) -> Path | None:
    """Return the data directory that is, or contains, the path; None if there is none."""
    resolved = path.resolve()
    for candidate in (resolved, *resolved.parents):
        if (candidate / "format.json").is_file() and (candidate / "topics").is_dir():
            return candidate
    return None


def _partitions(root: Path) -> list[Target]:
    directories = [d for d in (root / "topics").glob("*/*/*") if d.is_dir() and d.name.isdecimal()]
    return sorted((identify(d) for d in directories), key=lambda target: (target.topic, target.partition))


def identify(directory: Path) -> Target:
    """Name a partition by its path, DATA/topics/TOPIC/ID/PARTITION, or a copy elsewhere by its own name."""
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
        starts, configs = store.logs.log_starts(), store.configs.all()
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
    """Return whether a running broker has the directory open."""
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
    """Hold the lock of the data directory, so that no broker starts in it meanwhile."""
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
