"""`python -m bench.spark.cold`: from the start of a process to its first result, with Spark's own connector and ours.

A process of its own for each measurement, the two in turn, each first in half of the rounds. Measured are the seconds
until the first micro-batch of a stream from topic to topic is committed (`stream`), and until the first row of a batch
query is there (`batch`); the start of Java and of the session is in both.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from bench import store
from bench.rivals import Penstock, end_in_order_on_sigterm
from bench.spark.topics import fill
from bench.spark.works import OURS, THEIRS
from penstock.client.address import Address

WORKS: Final = ("stream", "batch")
ROWS: Final = 10_000
LATER_S_MAX: Final = 3.0
"""How much later ours may be."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.spark.cold", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=WORKS, default=list(WORKS))
    parser.add_argument("--rounds", type=int, default=4)
    arguments = parser.parse_args()
    end_in_order_on_sigterm()
    with tempfile.TemporaryDirectory(prefix="bench-cold-") as directory:
        broker = Penstock(Path(directory) / "penstock")
        broker.start()
        try:
            fill(Address(*broker.address), "cold", ROWS, partitions=2)
            results = {work: _in_turn(work, str(Address(*broker.address)), arguments.rounds) for work in arguments.only}
        finally:
            broker.stop()
    print(f"written to {store.save('spark-cold', {'rounds': arguments.rounds, 'cold': results})}")
    return int(any(one["later_s"] > LATER_S_MAX for one in results.values()))


def _in_turn(work: str, address: str, rounds: int) -> dict[str, float]:
    seconds: dict[str, list[float]] = {THEIRS: [], OURS: []}
    for number in range(rounds):
        for source in (THEIRS, OURS) if number % 2 == 0 else (OURS, THEIRS):
            seconds[source].append(_seconds(work, source, address))
    theirs, ours = (statistics.median(seconds[source]) for source in (THEIRS, OURS))
    print(f"{work:8} connector {theirs:6.2f} s   penstock {ours:6.2f} s   later by {ours - theirs:5.2f} s", flush=True)
    return {"connector_s": theirs, "penstock_s": ours, "later_s": ours - theirs}


def _seconds(work: str, source: str, address: str) -> float:
    """Until the process prints its one line."""
    started = time.perf_counter()
    command = [sys.executable, "-m", "bench.spark.cold_query", work, source, address]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        line = process.stdout.readline()
        taken = time.perf_counter() - started
        errors = process.stderr.read()
    if process.returncode or not line.startswith(b"there"):
        raise RuntimeError(f"the query of {source} failed:\n{errors.decode()[-2000:]}")
    return taken


if __name__ == "__main__":
    sys.exit(main())
