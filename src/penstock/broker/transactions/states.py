"""The states of a transactional id, and every step between them that is allowed.

One table, which docs/transactions.md shows and draws (`tools/doc_tables.py`). The numbers are those of
`__transaction_state`, the names those that DescribeTransactions shows.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Final


class TransactionState(enum.IntEnum):
    EMPTY = 0  # an id and an epoch, no transaction yet
    ONGOING = 1  # partitions have been added
    PREPARE_COMMIT = 2  # decided and durable; markers are being written
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4  # every marker is durable
    COMPLETE_ABORT = 5
    DEAD = 6  # the id is being forgotten
    PREPARE_EPOCH_FENCE = 7  # never stored: the epoch of an ongoing transaction rises so that it can be aborted

    @property
    def shown_name(self) -> str:
        return "".join(word.capitalize() for word in self.name.split("_"))


_S = TransactionState

STEPS: Final[Mapping[TransactionState, Mapping[TransactionState, str]]] = {
    _S.EMPTY: {
        _S.EMPTY: "InitProducerId",
        _S.ONGOING: "partitions added",
        _S.PREPARE_ABORT: "EndTxn v5: abort of nothing",
        _S.DEAD: "unused for long",
    },
    _S.ONGOING: {
        _S.ONGOING: "partitions added",
        _S.PREPARE_COMMIT: "EndTxn: commit",
        _S.PREPARE_ABORT: "EndTxn: abort",
        _S.PREPARE_EPOCH_FENCE: "InitProducerId, timeout",
    },
    _S.PREPARE_EPOCH_FENCE: {_S.PREPARE_ABORT: "at once"},
    _S.PREPARE_COMMIT: {_S.COMPLETE_COMMIT: "all markers durable"},
    _S.PREPARE_ABORT: {_S.COMPLETE_ABORT: "all markers durable"},
    _S.COMPLETE_COMMIT: {
        _S.EMPTY: "InitProducerId",
        _S.ONGOING: "partitions added",
        _S.PREPARE_ABORT: "EndTxn v5: abort of nothing",
        _S.DEAD: "unused for long",
    },
    _S.COMPLETE_ABORT: {
        _S.EMPTY: "InitProducerId",
        _S.ONGOING: "partitions added",
        _S.PREPARE_ABORT: "EndTxn v5: abort of nothing",
        _S.DEAD: "unused for long",
    },
    _S.DEAD: {},
}
"""Next states of each state, with the cause of the step."""

AT_REST: Final = frozenset({_S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT})
"""No transaction is open, and none is being ended."""

PREPARED: Final = frozenset({_S.PREPARE_COMMIT, _S.PREPARE_ABORT})


def is_step(before: TransactionState, after: TransactionState) -> bool:
    return after in STEPS[before]
