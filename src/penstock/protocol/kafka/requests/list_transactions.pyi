"""ListTransactions, requests. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from typing import TypedDict

class ListTransactionsRequest:
    state_filters: tuple[str, ...]
    producer_id_filters: tuple[int, ...]
    duration_filter: int  # v1+
    transactional_id_pattern: str | None  # v2+

class ListTransactionsRequestValues(TypedDict, total=False):
    state_filters: Sequence[str]
    producer_id_filters: Sequence[int]
    duration_filter: int  # v1+
    transactional_id_pattern: str | None  # v2+
