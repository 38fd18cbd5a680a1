"""OffsetCommit, requests. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import TypedDict
from uuid import UUID

class OffsetCommitRequestPartition:
    partition_index: int
    committed_offset: int
    committed_leader_epoch: int  # v6+
    committed_metadata: str | None

class OffsetCommitRequestTopic:
    topic_id: UUID | None  # v10+
    partitions: tuple[OffsetCommitRequestPartition, ...]
    name: str  # v2 to v9

class OffsetCommitRequest:
    group_id: str
    generation_id_or_member_epoch: int
    member_id: str
    group_instance_id: str | None  # v7+
    topics: tuple[OffsetCommitRequestTopic, ...]
    retention_time: timedelta  # v2 to v4

class OffsetCommitRequestPartitionValues(TypedDict, total=False):
    partition_index: int
    committed_offset: int
    committed_leader_epoch: int  # v6+
    committed_metadata: str | None

class OffsetCommitRequestTopicValues(TypedDict, total=False):
    topic_id: UUID | None  # v10+
    partitions: Sequence[OffsetCommitRequestPartitionValues]
    name: str  # v2 to v9

class OffsetCommitRequestValues(TypedDict, total=False):
    group_id: str
    generation_id_or_member_epoch: int
    member_id: str
    group_instance_id: str | None  # v7+
    topics: Sequence[OffsetCommitRequestTopicValues]
    retention_time: timedelta | int  # v2 to v4
