"""DescribeTopicPartitions, requests. Made by `python -m tools.wire_types`; do not edit."""

class TopicRequest:
    name: str

class Cursor:
    topic_name: str
    partition_index: int

class DescribeTopicPartitionsRequest:
    topics: tuple[TopicRequest, ...]
    response_partition_limit: int
    cursor: Cursor | None
