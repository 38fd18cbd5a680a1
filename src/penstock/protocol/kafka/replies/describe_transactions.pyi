"""DescribeTransactions, replies. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Literal

from kio.schema.errors import ErrorCode

class TopicData:
    topic: str
    partitions: tuple[int, ...]

class TransactionState:
    error_code: ErrorCode
    transactional_id: str
    transaction_state: str
    transaction_timeout: timedelta
    transaction_start_time: datetime
    producer_id: int
    producer_epoch: int
    topics: tuple[TopicData, ...]

class DescribeTransactionsResponse:
    throttle_time: timedelta
    transaction_states: tuple[TransactionState, ...]

_TopicData = TopicData
_TransactionState = TransactionState
_DescribeTransactionsResponse = DescribeTransactionsResponse

class DescribeTransactionsBuilders:
    version: int
    def has(self, name: Literal["TopicData", "TransactionState", "DescribeTransactionsResponse"]) -> bool: ...
    def TopicData(
        self,
        *,
        topic: str,
        partitions: Sequence[int] = ...,
    ) -> _TopicData: ...
    def TransactionState(
        self,
        *,
        error_code: ErrorCode | int,
        transactional_id: str,
        transaction_state: str,
        transaction_timeout: timedelta | int,
        transaction_start_time: datetime | int | None,
        producer_id: int,
        producer_epoch: int,
        topics: Sequence[_TopicData],
    ) -> _TransactionState: ...
    def DescribeTransactionsResponse(
        self,
        *,
        throttle_time: timedelta | int = ...,
        transaction_states: Sequence[_TransactionState],
    ) -> _DescribeTransactionsResponse: ...
