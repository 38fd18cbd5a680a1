"""DescribeLogDirs, requests. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from typing import TypedDict

class DescribableLogDirTopic:
    topic: str
    partitions: tuple[int, ...]

class DescribeLogDirsRequest:
    topics: tuple[DescribableLogDirTopic, ...] | None

class DescribableLogDirTopicValues(TypedDict, total=False):
    topic: str
    partitions: Sequence[int]

class DescribeLogDirsRequestValues(TypedDict, total=False):
    topics: Sequence[DescribableLogDirTopicValues] | None
