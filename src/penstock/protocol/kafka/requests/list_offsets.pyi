"""ListOffsets, requests. Made by `python -m tools.wire_types`; do not edit."""

from datetime import timedelta

class ListOffsetsPartition:
    partition_index: int
    timestamp: int
    current_leader_epoch: int  # v4+

class ListOffsetsTopic:
    name: str
    partitions: tuple[ListOffsetsPartition, ...]

class ListOffsetsRequest:
    replica_id: int
    topics: tuple[ListOffsetsTopic, ...]
    isolation_level: int  # v2+
    timeout: timedelta  # v10+
