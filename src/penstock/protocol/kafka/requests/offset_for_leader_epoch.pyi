"""OffsetForLeaderEpoch, requests. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from typing import TypedDict

class OffsetForLeaderPartition:
    partition: int
    current_leader_epoch: int
    leader_epoch: int

class OffsetForLeaderTopic:
    topic: str
    partitions: tuple[OffsetForLeaderPartition, ...]

class OffsetForLeaderEpochRequest:
    topics: tuple[OffsetForLeaderTopic, ...]
    replica_id: int  # v3+

class OffsetForLeaderPartitionValues(TypedDict, total=False):
    partition: int
    current_leader_epoch: int
    leader_epoch: int

class OffsetForLeaderTopicValues(TypedDict, total=False):
    topic: str
    partitions: Sequence[OffsetForLeaderPartitionValues]

class OffsetForLeaderEpochRequestValues(TypedDict, total=False):
    topics: Sequence[OffsetForLeaderTopicValues]
    replica_id: int  # v3+
