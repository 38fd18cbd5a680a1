"""DescribeLogDirs, requests. Made by `python -m tools.wire_types`; do not edit."""

class DescribableLogDirTopic:
    topic: str
    partitions: tuple[int, ...]

class DescribeLogDirsRequest:
    topics: tuple[DescribableLogDirTopic, ...] | None
