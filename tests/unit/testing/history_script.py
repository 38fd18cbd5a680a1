"""Histories by hand: a few words for each operation, with times that rise by ten unless a test says otherwise."""

from __future__ import annotations

from typing import Any

from penstock.testing.consistency.anomalies import Anomaly
from penstock.testing.consistency.checker import Verdict, judge
from penstock.testing.consistency.history import (
    Assignment,
    End,
    FullRead,
    Generation,
    History,
    Isolation,
    OffsetCommit,
    OffsetFetch,
    Operation,
    Outcome,
    Poll,
    Position,
    Seen,
    Transaction,
    Write,
)

COMMITTED, UNCOMMITTED = Isolation.COMMITTED, Isolation.UNCOMMITTED
OK, FAIL, UNKNOWN = Outcome.OK, Outcome.FAIL, Outcome.UNKNOWN


class Script:
    """Notes operations in the order of the calls. Everything is in partition `t-0` unless said otherwise."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self._time = 0

    def _common(self, client: str) -> dict[str, Any]:
        self._time += 10
        return {"client": client, "number": len(self.operations), "started": self._time, "ended": self._time + 5}

    def write(self, value: str, offset: int, transaction: str | None = None, **more: Any) -> None:
        given = {"topic": "t", "partition_index": 0, "outcome": OK, **more}
        self.operations.append(
            Write(**self._common("writer"), value=value, offset=offset, transaction=transaction, **given)
        )

    def transaction(
        self,
        name: str,
        end: End | None = End.COMMIT,
        outcome: Outcome = OK,
        generation: Generation = Generation.V2,
        **more: Any,
    ) -> None:
        """One that ends now."""
        common = self._common("writer")
        given = {"transactional_id": "id", "end_started": common["started"], **more}
        self.operations.append(
            Transaction(**{**common, **given}, name=name, end=end, outcome=outcome, generation=generation)
        )

    def assign(self, *offsets: int) -> None:
        """Partition by partition, where the consumer begins; -1: unknown."""
        positions = tuple(Position("t", number, offset) for number, offset in enumerate(offsets))
        self.operations.append(Assignment(**self._common("consumer"), positions=positions))

    def poll(self, *records: tuple[int, str], isolation: Isolation = COMMITTED, partition_index: int = 0) -> None:
        seen = tuple(Seen("t", partition_index, offset, value) for offset, value in records)
        self.operations.append(Poll(**self._common("consumer"), isolation=isolation, records=seen))

    def read(
        self,
        *records: tuple[int, str],
        log_end: int = 10,
        reached: int | None = None,
        isolation: Isolation = COMMITTED,
        partition_index: int = 0,
    ) -> None:
        self.operations.append(
            FullRead(
                **self._common("reader"),
                isolation=isolation,
                topic="t",
                partition_index=partition_index,
                reached=log_end if reached is None else reached,
                log_end=log_end,
                records=tuple(Seen("t", partition_index, offset, value) for offset, value in records),
            )
        )

    def commit(self, offset: int, transaction: str | None = None, outcome: Outcome = OK, **more: Any) -> None:
        given = {**self._common("writer"), "group": "g", "topic": "t", "partition_index": 0, **more}
        self.operations.append(OffsetCommit(**given, offset=offset, transaction=transaction, outcome=outcome))

    def fetch(self, offset: int, **more: Any) -> None:
        given = {**self._common("watcher"), "group": "g", "topic": "t", "partition_index": 0, **more}
        self.operations.append(OffsetFetch(**given, offset=offset))

    def verdict(self) -> Verdict:
        return judge(History(self.operations))

    def found(self) -> set[type[Anomaly]]:
        return {type(anomaly) for anomaly in self.verdict().anomalies}
