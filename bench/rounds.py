"""All work on all rivals: each in turn, in fresh directories, several rounds, medians.

A rival runs alone on the machine. Who is first changes from round to round, so that a machine that becomes slower or
faster meanwhile favours nobody. What a rival wrote is removed before the next one starts.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.meter import Meter
from bench.rivals import Rival
from bench.spread import Figures
from bench.targets import Medians
from bench.wire import Address
from bench.work import LOAD, WORK, Run

# Until a broker that has just started is idle.
IDLE_S = 3.0
STARTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    seconds: float
    warm_up: float
    only: Sequence[str]
    connections: int = 10_000

    def run(self, address: Address, meter: Meter) -> Run:
        return Run(
            address=address,
            seconds=self.seconds,
            warm_up=self.warm_up,
            meter=meter,
            connections=self.connections,
        )


def one_round(kind: type[Rival], options: Options) -> Iterator[tuple[str, Figures]]:
    """A fresh broker, all works, and what it took: start and memory, too."""
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as directory:
        broker = kind(Path(directory))
        try:
            broker.start()
            yield from _start_and_idle(broker, options)
            yield from works(broker.address, options, broker)
        finally:
            broker.stop()
    os.sync()


def _start_and_idle(broker: Rival, options: Options) -> Iterator[tuple[str, Figures]]:
    """Start times of a broker whose directory is there already; the first start made it."""
    if not {"start", "memory"} & set(options.only):
        return
    if "start" in options.only:
        seconds = []
        for _ in range(STARTS):
            broker.stop()
            seconds.append(broker.start())
        yield "start", {"seconds": statistics.median(seconds)}
    if "memory" in options.only:
        time.sleep(IDLE_S)
        yield "memory_idle", broker.memory()


def works(address: Address, options: Options, broker: Rival | None = None) -> Iterator[tuple[str, Figures]]:
    names = [name for name in WORK if name in options.only]
    run = options.run(address, Meter(broker))
    loaded = broker is not None and "memory" in options.only
    for name in names:
        if loaded and name not in LOAD:
            loaded = False
            yield "memory_loaded", _memory(broker)
        yield name, _attempt(name, run)
    if loaded:
        yield "memory_loaded", _memory(broker)


def _attempt(name: str, run: Run) -> Figures:
    """One broker that fails at one thing is a result, and no reason to measure nothing else."""
    try:
        return WORK[name](run)
    except (RuntimeError, OSError) as error:
        print(f"{name} failed: {error}", file=sys.stderr)
        return {"failed": 1}


def _memory(broker: Rival | None) -> Figures:
    assert broker is not None
    return broker.memory()


def medians(rounds: Sequence[Medians]) -> Medians:
    """Figure by figure."""
    result: Medians = {}
    for name in dict.fromkeys(name for one in rounds for name in one):
        measured = [one[name] for one in rounds if name in one]
        keys = dict.fromkeys(key for one in measured for key in one)
        result[name] = {key: statistics.median(one[key] for one in measured if key in one) for key in keys}
    return result
