"""`python -m tools.smoke [WHEEL]`: exit code 0 if the wheel serves, 1 if not, 2 if there is none."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tools.smoke.checks import run
from tools.smoke.environment import SmokeError

ROOT = Path(__file__).resolve().parents[2]
PINS = ROOT / "requirements" / "runtime.txt"


def newest_wheel(dist: Path) -> Path | None:
    return max(dist.glob("penstock-*.whl"), key=lambda path: path.stat().st_mtime, default=None)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.smoke", description="Does the wheel serve?")
    parser.add_argument("wheel", nargs="?", type=Path, help="the newest one in dist/ unless given")
    wheel: Path | None = parser.parse_args(arguments).wheel or newest_wheel(ROOT / "dist")
    if wheel is None or not wheel.is_file():
        print(f"there is no wheel {wheel or 'in dist/'}: `make build` makes one", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="penstock-smoke-") as directory:
        try:
            run(wheel.absolute(), PINS, Path(directory), lambda what, how: print(f"{what:13} {how}", flush=True))
        except (SmokeError, OSError, LookupError, ValueError) as error:
            print(f"{wheel.name} failed: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
