"""AddPartitionsToTxn, requests. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from typing import TypedDict

class AddPartitionsToTxnTopic:
    name: str
    partitions: tuple[int, ...]

class AddPartitionsToTxnRequest:
    v3_and_below_transactional_id: str  # v0 to v3
    v3_and_below_producer_id: int  # v0 to v3
    v3_and_below_producer_epoch: int  # v0 to v3
    v3_and_below_topics: tuple[AddPartitionsToTxnTopic, ...]  # v0 to v3
    transactions: tuple[AddPartitionsToTxnTransaction, ...]  # v4+

class AddPartitionsToTxnTransaction:
    transactional_id: str
    producer_id: int
    producer_epoch: int
    verify_only: bool
    topics: tuple[AddPartitionsToTxnTopic, ...]

class AddPartitionsToTxnTopicValues(TypedDict, total=False):
    name: str
    partitions: Sequence[int]

class AddPartitionsToTxnRequestValues(TypedDict, total=False):
    v3_and_below_transactional_id: str  # v0 to v3
    v3_and_below_producer_id: int  # v0 to v3
    v3_and_below_producer_epoch: int  # v0 to v3
    v3_and_below_topics: Sequence[AddPartitionsToTxnTopicValues]  # v0 to v3
    transactions: Sequence[AddPartitionsToTxnTransactionValues]  # v4+

class AddPartitionsToTxnTransactionValues(TypedDict, total=False):
    transactional_id: str
    producer_id: int
    producer_epoch: int
    verify_only: bool
    topics: Sequence[AddPartitionsToTxnTopicValues]
