"""TxnOffsetCommit, requests. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from typing import TypedDict

class TxnOffsetCommitRequestPartition:
    partition_index: int
    committed_offset: int
    committed_metadata: str | None
    committed_leader_epoch: int  # v2+

class TxnOffsetCommitRequestTopic:
    name: str
    partitions: tuple[TxnOffsetCommitRequestPartition, ...]

class TxnOffsetCommitRequest:
    transactional_id: str
    group_id: str
    producer_id: int
    producer_epoch: int
    topics: tuple[TxnOffsetCommitRequestTopic, ...]
    generation_id: int  # v3+
    member_id: str  # v3+
    group_instance_id: str | None  # v3+

class TxnOffsetCommitRequestPartitionValues(TypedDict, total=False):
    partition_index: int
    committed_offset: int
    committed_metadata: str | None
    committed_leader_epoch: int  # v2+

class TxnOffsetCommitRequestTopicValues(TypedDict, total=False):
    name: str
    partitions: Sequence[TxnOffsetCommitRequestPartitionValues]

class TxnOffsetCommitRequestValues(TypedDict, total=False):
    transactional_id: str
    group_id: str
    producer_id: int
    producer_epoch: int
    topics: Sequence[TxnOffsetCommitRequestTopicValues]
    generation_id: int  # v3+
    member_id: str  # v3+
    group_instance_id: str | None  # v3+
