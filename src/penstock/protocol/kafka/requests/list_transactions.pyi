"""ListTransactions, requests. Made by `python -m tools.wire_types`; do not edit."""

class ListTransactionsRequest:
    state_filters: tuple[str, ...]
    producer_id_filters: tuple[int, ...]
    duration_filter: int  # v1+
    transactional_id_pattern: str | None  # v2+
