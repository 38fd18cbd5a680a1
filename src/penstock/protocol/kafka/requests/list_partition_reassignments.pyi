"""ListPartitionReassignments, requests. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import TypedDict

class ListPartitionReassignmentsTopics:
    name: str
    partition_indexes: tuple[int, ...]

class ListPartitionReassignmentsRequest:
    timeout: timedelta
    topics: tuple[ListPartitionReassignmentsTopics, ...] | None

class ListPartitionReassignmentsTopicsValues(TypedDict, total=False):
    name: str
    partition_indexes: Sequence[int]

class ListPartitionReassignmentsRequestValues(TypedDict, total=False):
    timeout: timedelta | int
    topics: Sequence[ListPartitionReassignmentsTopicsValues] | None
