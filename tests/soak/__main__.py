"""`python -m tests.soak [--seconds N]`: an hour of mixed load with restarts, judged at the end; 1 if it failed.

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

from tests.soak.run import Soak


def main() -> int:
    parser = argparse.ArgumentParser(prog="soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=float(os.environ.get("SOAK_SECONDS", "3600")))
    options = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="penstock-soak-"))
    print(f"soak of {options.seconds:.0f} s in {directory}", flush=True)
    passed = Soak(directory, options.seconds).run()
    if passed:
        shutil.rmtree(directory)
    else:
        print(f"the broker's log and data are in {directory}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
