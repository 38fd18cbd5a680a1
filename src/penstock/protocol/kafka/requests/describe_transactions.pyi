"""DescribeTransactions, requests. Made by `python -m tools.wire_types`; do not edit."""

class DescribeTransactionsRequest:
    transactional_ids: tuple[str, ...]
