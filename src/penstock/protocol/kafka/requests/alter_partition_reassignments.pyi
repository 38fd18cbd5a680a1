"""AlterPartitionReassignments, requests. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import TypedDict

class ReassignablePartition:
    partition_index: int
    replicas: tuple[int, ...] | None

class ReassignableTopic:
    name: str
    partitions: tuple[ReassignablePartition, ...]

class AlterPartitionReassignmentsRequest:
    timeout: timedelta
    topics: tuple[ReassignableTopic, ...]
    allow_replication_factor_change: bool  # v1+

class ReassignablePartitionValues(TypedDict, total=False):
    partition_index: int
    replicas: Sequence[int] | None

class ReassignableTopicValues(TypedDict, total=False):
    name: str
    partitions: Sequence[ReassignablePartitionValues]

class AlterPartitionReassignmentsRequestValues(TypedDict, total=False):
    timeout: timedelta | int
    topics: Sequence[ReassignableTopicValues]
    allow_replication_factor_change: bool  # v1+
