"""AlterReplicaLogDirs, requests. Made by `python -m tools.wire_types`; do not edit."""

class AlterReplicaLogDirTopic:
    name: str
    partitions: tuple[int, ...]

class AlterReplicaLogDir:
    path: str
    topics: tuple[AlterReplicaLogDirTopic, ...]

class AlterReplicaLogDirsRequest:
    dirs: tuple[AlterReplicaLogDir, ...]
