"""InitProducerId, requests. Made by `python -m tools.wire_types`; do not edit."""

from datetime import timedelta
from typing import TypedDict

class InitProducerIdRequest:
    transactional_id: str | None
    transaction_timeout: timedelta
    producer_id: int  # v3+
    producer_epoch: int  # v3+
    enable2_pc: bool  # v6+
    keep_prepared_txn: bool  # v6+

class InitProducerIdRequestValues(TypedDict, total=False):
    transactional_id: str | None
    transaction_timeout: timedelta | int
    producer_id: int  # v3+
    producer_epoch: int  # v3+
    enable2_pc: bool  # v6+
    keep_prepared_txn: bool  # v6+
