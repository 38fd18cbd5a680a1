"""Known differences of transactions: batches that nobody sends who means well, and what a reader is told too much."""

from __future__ import annotations

from typing import Any

from tests.differential.known_row import ABSENT, TEXT, Holding, Known, answered

ANY_NAME = "where the log has a transaction of the producer open, batches and offsets are taken into it whatever"
FAULTS = "a batch with a negative sequence in a partition that was not added"
REMEMBERED = "the sequence of a batch that was refused for its transaction is remembered"
ABORTED = "the list of aborted transactions may hold some that began behind the last stable offset"

UNADDED = "open: without a sequence, in a partition that was not added"


def odd(versions: str, step: str, row: str, **fields: tuple[Any, Any]) -> tuple[Known, ...]:
    return answered(script=f"produce-transactional-oddities-v{versions}", step=step, row=row, **fields)


TRANSACTIONS: tuple[Known, ...] = (
    *(
        each
        for step, code in (("an unknown transactional id", 49), ("an empty transactional id", 42))
        for each in odd(
            "*",
            f"open: {step}",
            ANY_NAME,
            error_code=(0, code),
            base_offset=(1, -1),
            log_start_offset=(0, -1),
        )
    ),
    # The second of them is a duplicate of the first.
    *odd("*", "open: an empty transactional id", ANY_NAME, log_append_time=("T+0", None)),
    *(
        each
        for scripts, code in (("[3-9]", 48), ("10", 48), ("11", 120))
        for each in odd(scripts, UNADDED, FAULTS, error_code=(code, 87), log_start_offset=(-1, 0))
    ),
    *odd("[89]", UNADDED, FAULTS, error_message=(TEXT, None)),
    *odd("10", UNADDED, FAULTS, error_message=(TEXT, None)),
    Known(
        script="produce-transactional-oddities-v1[23]",
        step="describe_transactions v0: open",
        path="*.partitions[1]",
        kafka=2,
        penstock=ABSENT,
        row=FAULTS,
    ),
    *odd("*", "a plain batch with a higher sequence", REMEMBERED, error_code=(45, 0), base_offset=(-1, 0)),
    Known(
        script="transaction-readers",
        step="fetch v*: the second aborted: from 0, isolation 1",
        path="*.aborted_transactions[0]",
        kafka=Holding(first_offset=2),
        penstock=ABSENT,
        row=ABORTED,
    ),
)
