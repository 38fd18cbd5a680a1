"""CreateTopics, requests. Made by `python -m tools.wire_types`; do not edit."""

from datetime import timedelta

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
