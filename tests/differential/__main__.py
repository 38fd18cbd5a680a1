"""`make differential`: every script against Apache Kafka and Penstock, and what came of it.

    python -m tests.differential [--only PATTERN …] [--record] [--offline] [--jobs N] [--list]

The run fails when an answer differs and nobody has said why, when a known difference has gone, when a pair of API and
version has not been seen to succeed and to fail, when a script breaks, or when Kafka no longer says what the vectors
in tests/vectors say (`--record` writes them again). `--offline` compares Penstock with the vectors, without Java.
"""

from __future__ import annotations

import argparse
import fnmatch
import sys

from tests.differential.report import Report
from tests.differential.running import run_all
from tests.differential.script import Script, load_scripts


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.differential", description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", metavar="PATTERN", help="scripts or families, with * as in a shell")
    parser.add_argument("--record", action="store_true", help="write Kafka's answers to tests/vectors")
    parser.add_argument("--offline", action="store_true", help="compare with the vectors instead of a running Kafka")
    parser.add_argument("--quick", action="store_true", help="leave slow scripts out")
    parser.add_argument("--jobs", type=int, default=4, help="scripts at a time")
    parser.add_argument("--list", action="store_true", help="name the scripts and stop")
    parser.add_argument("--show", action="store_true", help="print every answer as it is compared")
    return parser.parse_args()


def chosen(patterns: list[str] | None, *, quick: bool) -> list[Script]:
    def matches(script: Script) -> bool:
        names = (script.name, script.family)
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns or ["*"] for name in names)

    return [script for script in load_scripts().values() if matches(script) and not (quick and script.slow)]


def main() -> int:
    options = arguments()
    scripts = chosen(options.only, quick=options.quick)
    if options.list:
        print("\n".join(f"{script.name:40} {script.seconds:4g} s{'  slow' * script.slow}" for script in scripts))
        return 0
    if not scripts:
        print("no script has such a name; --list shows them", file=sys.stderr)
        return 2
    complete = options.only is None and not options.quick
    report = Report(scripts, complete=complete, recording=options.record, show=options.show)
    kinds = ["penstock"] if options.offline else ["kafka", "penstock"]
    report.problems += run_all(scripts, kinds, jobs=options.jobs, finished=report.finished)
    return report.conclude()


if __name__ == "__main__":
    sys.exit(main())
