"""DescribeProducers, requests. Made by `python -m tools.wire_types`; do not edit."""

class TopicRequest:
    name: str
    partition_indexes: tuple[int, ...]

class DescribeProducersRequest:
    topics: tuple[TopicRequest, ...]
