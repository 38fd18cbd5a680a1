"""Files of the driver's machine, for output that is too large for a commit message, where a task sees them.

That is so in local mode and on executors beside the driver: there a file is as quick as memory. It is never synced, and
it is removed with the write's end, as a rule before the system has begun to write it. A mark that the driver has made
tells a task that the directory is the driver's, and not one of the same name on another machine; without it the
staging topic is used. Should a file be gone, the batch runs again.

A file may be read while its task still writes it (`ahead`): each batch stands behind its size and its destination.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple
from uuid import uuid4

from penstock.model.topic_partition import TopicPartition
from penstock_spark.errors import DataLost

MARK = "mark"
_HEAD: Final = struct.Struct("!iiH")  # bytes of the batch, partition, bytes of the topic's name, which follows

Placed = tuple[TopicPartition, bytearray]


class StageDirectory(NamedTuple):
    """Where the tasks of one write leave their files. It is there until the write's end."""

    root: str
    mark: str
    name: str

    @property
    def path(self) -> Path:
        return Path(self.root) / self.name

    @property
    def is_here(self) -> bool:
        try:
            return (Path(self.root) / MARK).read_text() == self.mark
        except OSError:
            return False


class StageFile:
    """The output of one task. OSError if the disk takes no more."""

    def __init__(self, directory: StageDirectory) -> None:
        self.path = str(directory.path / uuid4().hex)
        self.size = 0
        """Bytes of the batches that are in it as a whole, with what stands before each."""
        self._descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)

    def put(self, place: TopicPartition, batch: bytearray) -> None:
        topic = place.topic.encode()
        head = _HEAD.pack(len(batch), place.partition, len(topic)) + topic
        size = len(head) + len(batch)
        written = os.writev(self._descriptor, (head, batch))
        if written < size:
            rest = memoryview(head + batch)[written:]
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        self.size += size

    def close(self) -> None:
        os.close(self._descriptor)

    def remove(self) -> None:
        Path(self.path).unlink()


class Staged:
    """A file that is read from its beginning, once, batch by batch."""

    def __init__(self, path: str) -> None:
        try:
            self._file = Path(path).open("rb")  # noqa: SIM115 - it is closed with this object
        except FileNotFoundError as error:
            raise DataLost(f"{path}: what a task has left there is gone; the batch runs again") from error
        self._path = path
        self.at = 0

    def close(self) -> None:
        self._file.close()

    def next(self) -> Placed | None:
        """The next batch; None if it is not there as a whole, or not yet."""
        self._file.seek(self.at)
        head = self._file.read(_HEAD.size)
        if len(head) < _HEAD.size:
            return None
        size, partition, topic_size = _HEAD.unpack(head)
        topic = self._file.read(topic_size)
        batch = bytearray(size)
        if len(topic) < topic_size or self._file.readinto(batch) < size:
            return None
        self.at += _HEAD.size + topic_size + size
        return TopicPartition(topic.decode(), partition), batch

    def up_to(self, end: int) -> Iterator[Placed]:
        """The batches that are left in what a task has written."""
        while self.at < end:
            found = self.next()
            if found is None:
                raise DataLost(f"{self._path} has become shorter; the batch runs again")
            yield found


def filed(path: str, size: int) -> Iterator[Placed]:
    """The batches of a file, in order."""
    file = Staged(path)
    try:
        yield from file.up_to(size)
    finally:
        file.close()
