"""EndTxn, requests. Made by `python -m tools.wire_types`; do not edit."""

from typing import TypedDict

class EndTxnRequest:
    transactional_id: str
    producer_id: int
    producer_epoch: int
    committed: bool

class EndTxnRequestValues(TypedDict, total=False):
    transactional_id: str
    producer_id: int
    producer_epoch: int
    committed: bool
