"""TxnOffsetCommit, requests. Made by `python -m tools.wire_types`; do not edit."""

class TxnOffsetCommitRequestPartition:
    partition_index: int
    committed_offset: int
    committed_metadata: str | None
    committed_leader_epoch: int  # v2+

class TxnOffsetCommitRequestTopic:
    name: str
    partitions: tuple[TxnOffsetCommitRequestPartition, ...]

class TxnOffsetCommitRequest:
    transactional_id: str
    group_id: str
    producer_id: int
    producer_epoch: int
    topics: tuple[TxnOffsetCommitRequestTopic, ...]
    generation_id: int  # v3+
    member_id: str  # v3+
    group_instance_id: str | None  # v3+
