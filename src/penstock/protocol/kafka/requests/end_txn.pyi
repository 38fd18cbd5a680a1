"""EndTxn, requests. Made by `python -m tools.wire_types`; do not edit."""

class EndTxnRequest:
    transactional_id: str
    producer_id: int
    producer_epoch: int
    committed: bool
