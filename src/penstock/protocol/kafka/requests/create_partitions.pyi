"""CreatePartitions, requests. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import TypedDict

class CreatePartitionsAssignment:
    broker_ids: tuple[int, ...]

class CreatePartitionsTopic:
    name: str
    count: int
    assignments: tuple[CreatePartitionsAssignment, ...] | None

class CreatePartitionsRequest:
    topics: tuple[CreatePartitionsTopic, ...]
    timeout: timedelta
    validate_only: bool

class CreatePartitionsAssignmentValues(TypedDict, total=False):
    broker_ids: Sequence[int]

class CreatePartitionsTopicValues(TypedDict, total=False):
    name: str
    count: int
    assignments: Sequence[CreatePartitionsAssignmentValues] | None

class CreatePartitionsRequestValues(TypedDict, total=False):
    topics: Sequence[CreatePartitionsTopicValues]
    timeout: timedelta | int
    validate_only: bool
