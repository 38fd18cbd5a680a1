"""ElectLeaders, requests. Made by `python -m tools.wire_types`; do not edit."""

from datetime import timedelta

class TopicPartitions:
    topic: str
    partitions: tuple[int, ...]

class ElectLeadersRequest:
    topic_partitions: tuple[TopicPartitions, ...] | None
    timeout: timedelta
    election_type: int  # v1+
