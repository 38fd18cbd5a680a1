"""AddOffsetsToTxn, requests. Made by `python -m tools.wire_types`; do not edit."""

from typing import TypedDict

class AddOffsetsToTxnRequest:
    transactional_id: str
    producer_id: int
    producer_epoch: int
    group_id: str

class AddOffsetsToTxnRequestValues(TypedDict, total=False):
    transactional_id: str
    producer_id: int
    producer_epoch: int
    group_id: str
