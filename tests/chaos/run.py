"""The course of a run: clients, faults, the end, and the verdict."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from penstock.testing.consistency.checker import Verdict, judge
from penstock.testing.consistency.history import End, Generation, History, Outcome
from penstock.testing.consistency.history_file import Recorder, read_history
from tests.chaos.brokers import TXN_OFFSET_COMMIT, make_broker
from tests.chaos.crew import LEAVE_SECONDS, Crew
from tests.chaos.ending import fence_all, fetch_offsets, read_all, settle
from tests.chaos.nemesis import Nemesis
from tests.chaos.plan import REST_SECONDS, TOPICS, Fault, Minimum, Planned, Role, faults, kinds
from tests.support.broker_process import BrokerProcess
from tests.support.group_client import wait_for_coordinator
from tests.support.raw_client import RawClient
from tests.support.waiting import wait_until

START_SECONDS = 60.0
SHOWN_MAX = 20


@dataclass(frozen=True, slots=True)
class Result:
    verdict: Verdict
    counts: dict[str, int]
    shortages: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return not self.verdict.anomalies and not self.shortages

    def text(self) -> str:
        lines = [f"{name:50} {count}" for name, count in self.counts.items()]
        lines += [f"TOO LITTLE {shortage}" for shortage in self.shortages]
        lines += [f"known hole of V1: {each}" for each in self.verdict.known_hole[:SHOWN_MAX]]
        lines += [f"ANOMALY {each}" for each in self.verdict.anomalies[:SHOWN_MAX]]
        if self.verdict.anomalies:
            lines.append(f"in all: {self.verdict.counts()}")
        return "\n".join([*lines, "passed" if self.passed else "FAILED"])


class Chaos:
    def __init__(
        self,
        directory: Path,
        *,
        target: str,
        seed: int,
        seconds: float,
        roles: tuple[Role, ...],
        without: tuple[Fault, ...] = (),
        minimum: Minimum | None = None,
        rest: tuple[float, float] = REST_SECONDS,
        leave_seconds: float = LEAVE_SECONDS,
    ) -> None:
        self._minimum = Minimum.of(seconds) if minimum is None else minimum
        self._target = target
        self._without = without
        self._rest = rest
        self._leave_seconds = leave_seconds
        self._seed = seed
        self._seconds = seconds
        self._histories = directory / "history"
        self._histories.mkdir(parents=True)
        self.broker: BrokerProcess = make_broker(target, directory / "broker")
        self._crew = Crew(roles, seed=seed, bootstrap=self.broker.bootstrap, directory=self._histories)
        self._nemesis = Nemesis(self.broker, self._crew, directory)
        self._ended: list[str] = []

    def start_broker(self) -> bool:
        """Whether it has transactions."""
        self.broker.prepare()
        self.broker.start()
        with RawClient(self.broker.host, self.broker.port) as raw:
            return TXN_OFFSET_COMMIT in {each.api_key for each in raw.call("api_versions", 0).api_keys}

    def run(self) -> Result:
        """With the broker started; it is gone afterwards."""
        try:
            with RawClient(self.broker.host, self.broker.port) as raw:
                wait_for_coordinator(raw)
                for topic, partitions in TOPICS.items():
                    raw.create_topic(topic, partitions=partitions)
            self._crew.start()
            wait_until(self._crew.has_begun, what="every client has begun", within_s=START_SECONDS)
            self._make_chaos()
            self._crew.dismiss(self._leave_seconds)
            self._end()
        finally:
            self._crew.kill_all()
            self.broker.kill9()
        history = read_history(sorted(self._histories.glob("*.jsonl")))
        return self._result(history)

    def _make_chaos(self) -> None:
        """For the given time, and until every kind has had its turn if that takes longer; what missed comes again."""
        began = time.monotonic()
        missed: list[Planned] = []
        for number, planned in enumerate(faults(Random(self._seed), self._without, self._rest)):
            is_due = number < len(kinds(self._without))
            if not is_due and time.monotonic() + planned.rest > began + self._seconds:
                break
            if not self._strike(planned, began):
                missed.append(planned)
        for planned in missed:
            if not self._nemesis.counts[planned.fault]:
                self._strike(planned, began)
        self._wait_until(began + self._seconds)

    def _strike(self, planned: Planned, began: float) -> bool:
        self._wait_until(time.monotonic() + planned.rest)
        hit = self._nemesis.strike(planned)
        print(f"{time.monotonic() - began:6.1f} s  {planned.fault}{'' if hit else ': missed'}", flush=True)
        return hit

    def _wait_until(self, moment: float) -> None:
        while True:
            for name in self._crew.look_after():
                self._ended.append(f"{name} ended by itself:\n{self._crew.log_of(name)}")
            assert not self._ended, "\n".join(self._ended)
            if time.monotonic() >= moment:
                return
            time.sleep(0.1)

    def _end(self) -> None:
        recorder = Recorder(self._histories / "ending.jsonl", "ending")
        fence_all(self.broker, self._crew)
        settle(self.broker)
        fetch_offsets(self.broker, self._crew, recorder)
        read_all(self.broker, recorder)
        recorder.close()

    def _result(self, history: History) -> Result:
        counts = count(history)
        counts |= {str(fault): self._nemesis.counts[fault] for fault in kinds(self._without)}
        counts |= {f"failed flushes of {topic}": number for topic, number in self._nemesis.failed_flushes.items()}
        counts["kills of the broker"] = self._nemesis.kills
        shortages = self._minimum.shortages(counts, self._without)
        if self._nemesis.problem:
            shortages.append(self._nemesis.problem)
        verdict = judge(history)
        counts["anomalies that the hole of V1 explains"] = len(verdict.known_hole)
        counts["anomalies"] = len(verdict.anomalies)
        return Result(verdict, counts, shortages)


def count(history: History) -> dict[str, int]:
    found: Counter[str] = Counter()
    for transaction in history.transactions.values():
        found["transactions committed"] += transaction.committed
        found["transactions aborted"] += transaction.end is End.ABORT and transaction.outcome is Outcome.OK
        found["transactions with unknown outcome"] += transaction.outcome is not Outcome.OK
        found["transactions of the second generation"] += transaction.generation is Generation.V2
    found["writes"] = len(history.writes)
    found["writes outside of transactions"] = sum(write.transaction is None for write in history.writes.values())
    found["records read"] = sum(len(read.records) for read in history.reads)
    found["committed offsets fetched"] = len(history.fetches)
    return dict(found)
