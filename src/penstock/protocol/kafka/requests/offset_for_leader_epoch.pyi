"""OffsetForLeaderEpoch, requests. Made by `python -m tools.wire_types`; do not edit."""

class OffsetForLeaderPartition:
    partition: int
    current_leader_epoch: int
    leader_epoch: int

class OffsetForLeaderTopic:
    topic: str
    partitions: tuple[OffsetForLeaderPartition, ...]

class OffsetForLeaderEpochRequest:
    topics: tuple[OffsetForLeaderTopic, ...]
    replica_id: int  # v3+
