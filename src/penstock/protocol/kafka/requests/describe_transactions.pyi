"""DescribeTransactions, requests. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from typing import TypedDict

class DescribeTransactionsRequest:
    transactional_ids: tuple[str, ...]

class DescribeTransactionsRequestValues(TypedDict, total=False):
    transactional_ids: Sequence[str]
