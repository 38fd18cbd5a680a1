"""InitProducerId, requests. Made by `python -m tools.wire_types`; do not edit."""

from datetime import timedelta

class InitProducerIdRequest:
    transactional_id: str | None
    transaction_timeout: timedelta
    producer_id: int  # v3+
    producer_epoch: int  # v3+
    enable2_pc: bool  # v6+
    keep_prepared_txn: bool  # v6+
