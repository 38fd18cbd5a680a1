"""`make compat-suites`: the tests that client libraries publish, against Apache Kafka and against Penstock.

    python -m tests.suites                        all suites
    python -m tests.suites kafka-python franz-go  these
    python -m tests.suites --same-control …       take what Kafka did from the last run
    python -m tests.suites --table                only write the table from the results that are there

Fails when a test that passes on Kafka fails on Penstock, twice or once of two times, and is not in `expected.py`; and
when a suite could not be run.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.suites import record, table
from tests.suites.brokers import KINDS, running
from tests.suites.catalogue import SUITES
from tests.suites.comparison import WORSE, Compared, Verdict, compare, counts, to_run_again
from tests.suites.suite import Outcome, Result, Suite

NOT_RUN = (RuntimeError, AssertionError, OSError)
"""Of fetching a suite and starting its brokers. The other suites run all the same."""
LOGS = Path(tempfile.gettempdir()) / "penstock-suites"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tests.suites", description="Client libraries' own tests on two brokers.")
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"one of {', '.join(sorted(SUITES))}; default: all")
    parser.add_argument("--table", action="store_true", help="run nothing, only write the table")
    parser.add_argument("--same-control", action="store_true", help="do not run on Kafka what ran there before")
    chosen = parser.parse_args(arguments)
    unknown = set(chosen.suites) - set(SUITES)
    if unknown:
        parser.error(f"no such suite: {', '.join(sorted(unknown))}; there are {', '.join(sorted(SUITES))}")
    worse = 0
    if not chosen.table:
        for name in chosen.suites or SUITES:
            worse += _run(SUITES[name], same_control=chosen.same_control)
    table.write()
    return 1 if worse else 0


def _run(suite: Suite, *, same_control: bool) -> int:
    """Run one suite, keep its results, show them; how many tests are worse on Penstock, 1 if nothing was compared."""
    print(f"{suite.name} {suite.version}", flush=True)
    if missing := suite.missing_tools():
        print(f"  NOT RUN: {', '.join(missing)} not installed", flush=True)
        return 1
    started = time.monotonic()
    try:
        suite.prepare()
        first = {kind: _first(kind, suite, same_control and kind == "kafka") for kind in KINDS}
        again = to_run_again(suite.name, first["kafka"], first["penstock"])
        second = {kind: _on(kind, suite, again) if again else {} for kind in KINDS}
    except NOT_RUN as error:
        print(f"  NOT RUN: {error}", flush=True)
        return 1
    compared = compare(suite.name, *((first[kind], second[kind]) for kind in KINDS))
    record.keep(suite, compared, time.monotonic() - started)
    _show(compared)
    return sum(counts(compared)[verdict] for verdict in WORSE)


def _first(kind: str, suite: Suite, from_last: bool) -> dict[str, Result]:
    results = record.kept_run(suite, kind) if from_last else None
    if results is None:
        results = _on(kind, suite, ())
        record.keep_run(suite, kind, results)
    return results


def _on(kind: str, suite: Suite, only: Sequence[str]) -> dict[str, Result]:
    directory = LOGS / suite.name / (f"{kind}-again" if only else kind)
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    with running(kind, suite.needs, directory) as target:
        results = suite.run(target, only)
    ends = [result.outcome for result in results.values()]
    what = " again" if only else ""
    shown = ", ".join(f"{ends.count(outcome)} {outcome}" for outcome in Outcome)
    if not results:
        raise RuntimeError(f"{suite.name}: not one test ended on {kind}, see {directory}")
    print(f"  on {kind}{what}: {shown} (logs in {directory})", flush=True)
    return results


def _show(compared: Sequence[Compared]) -> None:
    for verdict, count in sorted(counts(compared).items()):
        print(f"  {count:4} {verdict}")
    for one in compared:
        if one.verdict in (Verdict.SAME, Verdict.SKIPPED, Verdict.EXPECTED, Verdict.FLAKY_KNOWN):
            continue
        print(f"  {one.verdict}: {one.test}")
        for kind, results in (("Kafka", one.kafka), ("Penstock", one.penstock)):
            messages = {result.message for result in results if result.outcome is Outcome.FAILED}
            for message in sorted(messages):
                print(f"      {kind}: {message or 'failed'}")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
