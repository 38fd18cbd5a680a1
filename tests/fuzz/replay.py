"""`python -m tests.fuzz.replay FILE…`: give inputs to the targets that their names begin with."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.fuzz.targets import SHARES, load


def main() -> None:
    for path in map(Path, sys.argv[1:]):
        (name,) = (name for name in SHARES if path.name.startswith(name))
        load(name).run(path.read_bytes())
        print(f"{path}: nothing wrong")


if __name__ == "__main__":
    main()
