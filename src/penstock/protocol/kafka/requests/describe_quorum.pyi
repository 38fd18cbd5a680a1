"""DescribeQuorum, requests. Made by `python -m tools.wire_types`; do not edit."""

class PartitionData:
    partition_index: int

class TopicData:
    topic_name: str
    partitions: tuple[PartitionData, ...]

class DescribeQuorumRequest:
    topics: tuple[TopicData, ...]
