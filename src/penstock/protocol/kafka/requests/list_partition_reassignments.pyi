"""ListPartitionReassignments, requests. Made by `python -m tools.wire_types`; do not edit."""

from datetime import timedelta

class ListPartitionReassignmentsTopics:
    name: str
    partition_indexes: tuple[int, ...]

class ListPartitionReassignmentsRequest:
    timeout: timedelta
    topics: tuple[ListPartitionReassignmentsTopics, ...] | None
