"""CreateTopics, requests. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import TypedDict

class CreatableReplicaAssignment:
    partition_index: int
    broker_ids: tuple[int, ...]

class CreatableTopicConfig:
    name: str
    value: str | None

class CreatableTopic:
    name: str
    num_partitions: int
    replication_factor: int
    assignments: tuple[CreatableReplicaAssignment, ...]
    configs: tuple[CreatableTopicConfig, ...]

class CreateTopicsRequest:
    topics: tuple[CreatableTopic, ...]
    timeout: timedelta
    validate_only: bool

class CreatableReplicaAssignmentValues(TypedDict, total=False):
    partition_index: int
    broker_ids: Sequence[int]

class CreatableTopicConfigValues(TypedDict, total=False):
    name: str
    value: str | None

class CreatableTopicValues(TypedDict, total=False):
    name: str
    num_partitions: int
    replication_factor: int
    assignments: Sequence[CreatableReplicaAssignmentValues]
    configs: Sequence[CreatableTopicConfigValues]

class CreateTopicsRequestValues(TypedDict, total=False):
    topics: Sequence[CreatableTopicValues]
    timeout: timedelta | int
    validate_only: bool
