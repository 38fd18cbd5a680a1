"""DeleteRecords, requests. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import TypedDict

class DeleteRecordsPartition:
    partition_index: int
    offset: int

class DeleteRecordsTopic:
    name: str
    partitions: tuple[DeleteRecordsPartition, ...]

class DeleteRecordsRequest:
    topics: tuple[DeleteRecordsTopic, ...]
    timeout: timedelta

class DeleteRecordsPartitionValues(TypedDict, total=False):
    partition_index: int
    offset: int

class DeleteRecordsTopicValues(TypedDict, total=False):
    name: str
    partitions: Sequence[DeleteRecordsPartitionValues]

class DeleteRecordsRequestValues(TypedDict, total=False):
    topics: Sequence[DeleteRecordsTopicValues]
    timeout: timedelta | int
