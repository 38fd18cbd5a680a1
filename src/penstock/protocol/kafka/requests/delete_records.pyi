"""DeleteRecords, requests. Made by `python -m tools.wire_types`; do not edit."""

from datetime import timedelta

class DeleteRecordsPartition:
    partition_index: int
    offset: int

class DeleteRecordsTopic:
    name: str
    partitions: tuple[DeleteRecordsPartition, ...]

class DeleteRecordsRequest:
    topics: tuple[DeleteRecordsTopic, ...]
    timeout: timedelta
