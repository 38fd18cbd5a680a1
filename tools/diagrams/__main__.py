"""`python -m tools.diagrams`: draw docs/diagrams/*.svg from the TOML files beside them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.diagrams.drawing import svg
from tools.diagrams.source import DiagramError, Source

DIRECTORY = Path(__file__).resolve().parents[2] / "docs" / "diagrams"


def sources(directory: Path = DIRECTORY) -> list[Source]:
    return [Source(path) for path in sorted(directory.glob("*.toml"))]


def main(arguments: Sequence[str] | None = None, directory: Path = DIRECTORY) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.diagrams", description="The diagrams of the documentation.")
    parser.add_argument("--check", action="store_true", help="change nothing, fail if a picture is out of date")
    check = parser.parse_args(arguments).check
    failed = False
    for source in sources(directory):
        try:
            wanted = svg(source.read())
        except DiagramError as error:
            print(error, file=sys.stderr)
            failed = True
            continue
        if source.picture.is_file() and source.picture.read_text(encoding="utf-8") == wanted:
            continue
        if check:
            print(f"{source.picture.name} is out of date: run .venv/bin/python -m tools.diagrams", file=sys.stderr)
            failed = True
        else:
            source.picture.write_text(wanted, encoding="utf-8")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
