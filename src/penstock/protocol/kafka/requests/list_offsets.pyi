"""ListOffsets, requests. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import TypedDict

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

class ListOffsetsPartitionValues(TypedDict, total=False):
    partition_index: int
    timestamp: int
    current_leader_epoch: int  # v4+

class ListOffsetsTopicValues(TypedDict, total=False):
    name: str
    partitions: Sequence[ListOffsetsPartitionValues]

class ListOffsetsRequestValues(TypedDict, total=False):
    replica_id: int
    topics: Sequence[ListOffsetsTopicValues]
    isolation_level: int  # v2+
    timeout: timedelta | int  # v10+
