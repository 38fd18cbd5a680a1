"""OffsetDelete, requests. Made by `python -m tools.wire_types`; do not edit."""

class OffsetDeleteRequestPartition:
    partition_index: int

class OffsetDeleteRequestTopic:
    name: str
    partitions: tuple[OffsetDeleteRequestPartition, ...]

class OffsetDeleteRequest:
    group_id: str
    topics: tuple[OffsetDeleteRequestTopic, ...]
