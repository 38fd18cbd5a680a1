"""ListTransactions, replies. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

from kio.schema.errors import ErrorCode

class TransactionState:
    transactional_id: str
    producer_id: int
    transaction_state: str

class ListTransactionsResponse:
    throttle_time: timedelta
    error_code: ErrorCode
    unknown_state_filters: tuple[str, ...]
    transaction_states: tuple[TransactionState, ...]

_TransactionState = TransactionState
_ListTransactionsResponse = ListTransactionsResponse

class ListTransactionsBuilders:
    version: int
    def has(self, name: Literal["TransactionState", "ListTransactionsResponse"]) -> bool: ...
    def TransactionState(
        self,
        *,
        transactional_id: str,
        producer_id: int,
        transaction_state: str,
    ) -> _TransactionState: ...
    def ListTransactionsResponse(
        self,
        *,
        throttle_time: timedelta | int = ...,
        error_code: ErrorCode | int,
        unknown_state_filters: Sequence[str] = ...,
        transaction_states: Sequence[_TransactionState],
    ) -> _ListTransactionsResponse: ...
