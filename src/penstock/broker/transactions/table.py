"""The transactional ids of one shard, ordered so that timeouts and expiry need not look at all of them.

Few transactions are open at a time, and timeouts concern only those. All other ids rest, in the order in which they
came to rest: the first is the one that has been unused for longest.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from itertools import chain

from penstock.broker.transactions.states import AT_REST
from penstock.broker.transactions.transaction import Transaction


class TransactionTable:
    """Transactions by transactional id, the last value of each.

    `names` has the id of each producer id; all shards of a coordinator share it.
    """

    __slots__ = ("_names", "_open", "_resting")

    def __init__(self, names: dict[int, str] | None = None) -> None:
        self._names = {} if names is None else names
        self._open: dict[str, Transaction] = {}
        self._resting: OrderedDict[str, Transaction] = OrderedDict()

    def __len__(self) -> int:
        return len(self._open) + len(self._resting)

    def __iter__(self) -> Iterator[Transaction]:
        return chain(self._open.values(), self._resting.values())

    def get(self, transactional_id: str) -> Transaction | None:
        return self._open.get(transactional_id) or self._resting.get(transactional_id)

    def put(self, value: Transaction) -> None:
        """Replace the id's last value."""
        self.discard(value.transactional_id)
        place = self._resting if value.state in AT_REST else self._open
        place[value.transactional_id] = value
        self._names[value.producer_id] = value.transactional_id

    def discard(self, transactional_id: str) -> None:
        value = self._open.pop(transactional_id, None) or self._resting.pop(transactional_id, None)
        if value is not None:
            self._names.pop(value.producer_id, None)

    def clear(self) -> None:
        for value in self:
            self._names.pop(value.producer_id, None)
        self._open.clear()
        self._resting.clear()

    def open(self) -> list[Transaction]:
        """Transactions that have begun and are not complete."""
        return list(self._open.values())

    def overdue(self, now_ms: int) -> list[Transaction]:
        """Transactions that have been open for longer than their clients allowed."""
        return [value for value in self._open.values() if value.is_overdue(now_ms)]

    def unused(self, now_ms: int, expiration_ms: int, count_max: int) -> list[Transaction]:
        """Up to `count_max` ids that have rested for the given time.

        The search ends with the first that has not: after a clock is set back some are found late, but none too early.
        """
        found: list[Transaction] = []
        for value in self._resting.values():
            if len(found) == count_max or not value.is_unused(now_ms, expiration_ms):
                break
            found.append(value)
        return found
