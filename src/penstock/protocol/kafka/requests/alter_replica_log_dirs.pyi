"""AlterReplicaLogDirs, requests. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from typing import TypedDict

class AlterReplicaLogDirTopic:
    name: str
    partitions: tuple[int, ...]

class AlterReplicaLogDir:
    path: str
    topics: tuple[AlterReplicaLogDirTopic, ...]

class AlterReplicaLogDirsRequest:
    dirs: tuple[AlterReplicaLogDir, ...]

class AlterReplicaLogDirTopicValues(TypedDict, total=False):
    name: str
    partitions: Sequence[int]

class AlterReplicaLogDirValues(TypedDict, total=False):
    path: str
    topics: Sequence[AlterReplicaLogDirTopicValues]

class AlterReplicaLogDirsRequestValues(TypedDict, total=False):
    dirs: Sequence[AlterReplicaLogDirValues]
