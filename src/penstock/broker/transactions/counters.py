"""Counters of ended transactions, for metrics."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.broker.transactions.states import TransactionState
from penstock.broker.transactions.transaction import Transaction


@dataclass(slots=True)
class Ends:
    """Ended transactions since the start. One counts when its end is complete; `timed_out` when that is decided."""

    committed: int = 0
    aborted: int = 0
    """Aborted for any reason, including timeouts and fenced producers."""
    timed_out: int = 0

    def count(self, prepared: Transaction) -> None:
        if not prepared.partitions:
            return  # an abort without a transaction, which only raises an epoch
        if prepared.state is TransactionState.PREPARE_COMMIT:
            self.committed += 1
        else:
            self.aborted += 1
