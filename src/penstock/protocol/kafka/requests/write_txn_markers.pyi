"""WriteTxnMarkers, requests. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from typing import TypedDict

class WritableTxnMarkerTopic:
    name: str
    partition_indexes: tuple[int, ...]

class WritableTxnMarker:
    producer_id: int
    producer_epoch: int
    transaction_result: bool
    topics: tuple[WritableTxnMarkerTopic, ...]
    coordinator_epoch: int
    transaction_version: int  # v2+

class WriteTxnMarkersRequest:
    markers: tuple[WritableTxnMarker, ...]

class WritableTxnMarkerTopicValues(TypedDict, total=False):
    name: str
    partition_indexes: Sequence[int]

class WritableTxnMarkerValues(TypedDict, total=False):
    producer_id: int
    producer_epoch: int
    transaction_result: bool
    topics: Sequence[WritableTxnMarkerTopicValues]
    coordinator_epoch: int
    transaction_version: int  # v2+

class WriteTxnMarkersRequestValues(TypedDict, total=False):
    markers: Sequence[WritableTxnMarkerValues]
