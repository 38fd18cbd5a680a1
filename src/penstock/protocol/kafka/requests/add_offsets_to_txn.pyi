"""AddOffsetsToTxn, requests. Made by `python -m tools.wire_types`; do not edit."""

class AddOffsetsToTxnRequest:
    transactional_id: str
    producer_id: int
    producer_epoch: int
    group_id: str
