"""Correct histories: clients at random on a log that is right by construction.

`SimulatedCluster` keeps partitions as lists, in which markers of transactions take up offsets as they do in Kafka, and
notes what its clients try and see. Answers get lost (the outcome is unknown though the log is not), clients vanish in
the middle of a transaction, consumers are rebalanced. Offsets are committed in transactions and outside of them. Time
is a counter.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random

from penstock.testing.consistency.history import (
    NEVER,
    NOWHERE,
    Assignment,
    End,
    FullRead,
    Generation,
    Isolation,
    OffsetCommit,
    OffsetFetch,
    Operation,
    Outcome,
    Partition,
    Poll,
    Position,
    Seen,
    Transaction,
    Write,
)
from tests.unit.testing.simulated_offsets import SimulatedOffsets

PARTITIONS = (Partition("a", 0), Partition("a", 1), Partition("b", 0))
GROUPS = ("one", "another")
POLL_MAX = 5


@dataclass(slots=True)
class Open:
    """A transaction that goes on."""

    operation: Transaction
    first: dict[Partition, int] = field(default_factory=dict)


@dataclass(slots=True)
class Consumer:
    name: str
    isolation: Isolation
    positions: dict[Partition, int]


class SimulatedCluster:
    def __init__(self, random: Random) -> None:
        self._random = random
        self._time = 0
        self._numbers = 0
        self._logs: dict[Partition, list[tuple[str, str | None] | None]] = {each: [] for each in PARTITIONS}
        self._committed: set[str] = set()
        self._open: list[Open] = []
        self._offsets = SimulatedOffsets()
        self._found: dict[tuple[str, int], Operation] = {}
        self._consumers = [Consumer(f"consumer {isolation}", isolation, {}) for isolation in Isolation]
        for consumer in self._consumers:
            self._assign(consumer)

    def run(self, steps: int) -> list[Operation]:
        actions = [self._write, self._begin, self._write_in, self._write_in, self._commit_offset, self._end]
        actions += [self._end, self._poll, self._poll, self._rebalance, self._fetch_offsets, self._vanish]
        for _ in range(steps):
            self._random.choice(actions)()
        while self._open:
            self._vanish()
        self._fetch_offsets()
        for partition in PARTITIONS:
            for isolation in Isolation:
                self._read_fully(partition, isolation)
        return list(self._found.values())

    def _tick(self) -> int:
        self._time += 1
        return self._time

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers

    def _note(self, operation: Operation) -> None:
        self._found[operation.client, operation.number] = operation

    # --- writing ---------------------------------------------------------------------------------------------------

    def _write(self) -> None:
        self._append(None)

    def _write_in(self) -> None:
        if self._open:
            self._append(self._random.choice(self._open))

    def _append(self, transaction: Open | None) -> None:
        partition = self._random.choice(PARTITIONS)
        number, log, started = self._number(), self._logs[partition], self._tick()
        value, name = f"v{number}", None if transaction is None else transaction.operation.name
        outcome = self._random.choices([Outcome.OK, Outcome.UNKNOWN, Outcome.FAIL], [8, 1, 1])[0]
        offset = len(log)
        if outcome is Outcome.OK or (outcome is Outcome.UNKNOWN and self._random.random() < 0.5):
            if transaction is not None:
                transaction.first.setdefault(partition, offset)
            log.append((value, name))
        self._note(
            Write(
                client="writer",
                number=number,
                started=started,
                ended=self._tick() if outcome is Outcome.OK else NEVER,
                topic=partition.topic,
                partition_index=partition.partition_index,
                value=value,
                transaction=name,
                outcome=outcome,
                offset=offset if outcome is Outcome.OK else NOWHERE,
            )
        )

    def _begin(self) -> None:
        if len(self._open) >= 3:
            return
        number = self._number()
        operation = Transaction(
            client="writer",
            number=number,
            started=self._tick(),
            name=f"t{number}",
            transactional_id=f"id{number}",
            generation=self._random.choice(list(Generation)),
        )
        self._note(operation)
        self._open.append(Open(operation))

    def _end(self) -> None:
        if not self._open:
            return
        transaction = self._open.pop(self._random.randrange(len(self._open)))
        end = self._random.choices([End.COMMIT, End.ABORT], [3, 1])[0]
        outcome = self._random.choices([Outcome.OK, Outcome.UNKNOWN], [5, 1])[0]
        started = self._tick()
        commits = end is End.COMMIT and (outcome is Outcome.OK or self._random.random() < 0.5)
        self._finish(transaction, commits=commits)
        ended = self._tick() if outcome is Outcome.OK else NEVER
        self._note(replace(transaction.operation, end=end, end_started=started, ended=ended, outcome=outcome))

    def _vanish(self) -> None:
        """The client dies; the broker aborts what it left."""
        if self._open:
            self._finish(self._open.pop(0), commits=False)

    def _finish(self, transaction: Open, *, commits: bool) -> None:
        if commits:
            self._committed.add(transaction.operation.name)
        self._offsets.end(transaction.operation.name, commits=commits)
        for partition in transaction.first:
            self._logs[partition].append(None)

    def _commit_offset(self) -> None:
        number, group, started = self._number(), self._random.choice(GROUPS), self._tick()
        chosen = self._random.choice([None, *self._open, *self._open])
        transaction = None if chosen is None else chosen.operation.name
        outcome = self._random.choices([Outcome.OK, Outcome.UNKNOWN, Outcome.FAIL], [8, 1, 1])[0]
        if outcome is Outcome.OK or (outcome is Outcome.UNKNOWN and self._random.random() < 0.5):
            self._offsets.commit(group, number, transaction)
        self._note(
            OffsetCommit(
                client="writer",
                number=number,
                started=started,
                ended=self._tick() if outcome is Outcome.OK else NEVER,
                group=group,
                topic="a",
                partition_index=0,
                offset=number,
                transaction=transaction,
                outcome=outcome,
            )
        )

    # --- reading ---------------------------------------------------------------------------------------------------

    def _fetch_offsets(self) -> None:
        for group in filter(self._offsets.is_stable, GROUPS):
            self._note(
                OffsetFetch(
                    client="watcher",
                    number=self._number(),
                    started=self._tick(),
                    ended=self._tick(),
                    group=group,
                    topic="a",
                    partition_index=0,
                    offset=self._offsets.fetched(group),
                )
            )

    def _readable(self, partition: Partition, isolation: Isolation, start: int) -> tuple[list[Seen], int]:
        log = self._logs[partition]
        end = len(log)
        if isolation is Isolation.COMMITTED:
            end = min([end, *(each.first[partition] for each in self._open if partition in each.first)])
        found = []
        for offset in range(start, end):
            entry = log[offset]
            if entry is None:
                continue
            value, name = entry
            if isolation is Isolation.UNCOMMITTED or name is None or name in self._committed:
                found.append(Seen(*partition, offset, value))
        return found, end

    def _poll(self) -> None:
        consumer, started = self._random.choice(self._consumers), self._tick()
        records: list[Seen] = []
        for partition, position in consumer.positions.items():
            seen, end = self._readable(partition, consumer.isolation, position)
            taken = seen[:POLL_MAX]
            consumer.positions[partition] = max(position, end) if taken == seen else taken[-1].offset + 1
            records += taken
        self._note(
            Poll(
                client=consumer.name,
                number=self._number(),
                started=started,
                ended=self._tick(),
                isolation=consumer.isolation,
                records=tuple(records),
            )
        )

    def _rebalance(self) -> None:
        self._assign(self._random.choice(self._consumers))

    def _assign(self, consumer: Consumer) -> None:
        chosen = self._random.sample(PARTITIONS, self._random.randint(1, len(PARTITIONS)))
        consumer.positions = {each: self._random.randint(0, len(self._logs[each])) for each in chosen}
        positions = tuple(
            Position(*each, NOWHERE if self._random.random() < 0.3 else offset)
            for each, offset in consumer.positions.items()
        )
        time = self._tick()
        self._note(
            Assignment(client=consumer.name, number=self._number(), started=time, ended=time, positions=positions)
        )

    def _read_fully(self, partition: Partition, isolation: Isolation) -> None:
        started = self._tick()
        records, end = self._readable(partition, isolation, 0)
        self._note(
            FullRead(
                client="reader",
                number=self._number(),
                started=started,
                ended=self._tick(),
                isolation=isolation,
                topic=partition.topic,
                partition_index=partition.partition_index,
                reached=end,
                log_end=len(self._logs[partition]),
                records=tuple(records),
            )
        )
