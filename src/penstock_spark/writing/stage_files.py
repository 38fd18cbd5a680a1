"""Files of the driver's machine, for output that is too large for a commit message, where a task sees them.

That is so in local mode and on executors beside the driver: there a file is as quick as memory. It is never synced, and
it is removed with the write's end, as a rule before the system has begun to write it. A mark that the driver has made
tells a task that the directory is the driver's, and not one of the same name on another machine; without it the
staging topic is used. Should a file be gone, the batch runs again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from penstock.model.topic_partition import TopicPartition
from penstock_spark.errors import DataLost

MARK = "mark"


class Piece(NamedTuple):
    """A batch in a file, behind those before it."""

    topic: str
    partition: int
    size: int


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
        self.pieces: list[Piece] = []
        self._descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)

    def put(self, place: TopicPartition, batch: bytearray) -> None:
        rest = memoryview(batch)
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]
        self.pieces.append(Piece(*place, len(batch)))

    def close(self) -> None:
        os.close(self._descriptor)

    def remove(self) -> None:
        Path(self.path).unlink()


def filed(path: str, pieces: Sequence[Piece]) -> Iterator[tuple[TopicPartition, bytearray]]:
    """The batches of a file, in order."""
    try:
        with Path(path).open("rb") as file:
            for piece in pieces:
                batch = bytearray(piece.size)
                if file.readinto(batch) != piece.size:
                    raise DataLost(f"{path} has become shorter; the batch runs again")
                yield TopicPartition(piece.topic, piece.partition), batch
    except FileNotFoundError as error:
        raise DataLost(f"{path}: what a task has left there is gone; the batch runs again") from error
