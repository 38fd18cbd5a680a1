"""CreatePartitions, requests. Made by `python -m tools.wire_types`; do not edit."""

from datetime import timedelta

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
