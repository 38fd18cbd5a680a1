"""AlterPartitionReassignments, requests. Made by `python -m tools.wire_types`; do not edit."""

from datetime import timedelta

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
