"""WriteTxnMarkers, requests. Made by `python -m tools.wire_types`; do not edit."""

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
