"""`python -m tests.soak [--seconds N] [--smoke]`: an hour of mixed load with restarts, judged at the end; 1: it failed.

A run that is too short to show whether memory, files or latency grow is refused, unless it is called a smoke run.
One line every ten seconds says how it goes. The result is a JSON file in tests/soak/results; the broker's directory is
kept if something was wrong.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

from tests.soak.plan import TREND_SECONDS_MIN, Schedule
from tests.soak.run import Soak


def main() -> int:
    parser = argparse.ArgumentParser(prog="soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=float(os.environ.get("SOAK_SECONDS", "3600")))
    parser.add_argument("--smoke", action="store_true", help="may be too short to show a trend; all else is judged")
    options = parser.parse_args()
    schedule = Schedule(options.seconds)
    if not (schedule.shows_trend or options.smoke):
        parser.error(
            f"a trend takes {TREND_SECONDS_MIN:.0f} s to show, this is {options.seconds:.0f}: --smoke to go without"
        )
    directory = Path(tempfile.mkdtemp(prefix="penstock-soak-"))
    print(f"{'smoke run' if options.smoke else 'soak'} of {options.seconds:.0f} s in {directory}", flush=True)
    passed = Soak(directory, schedule, smoke=options.smoke).run()
    if passed:
        shutil.rmtree(directory)
    else:
        print(f"the broker's log and data are in {directory}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
