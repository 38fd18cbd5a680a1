"""`python -m tools.website`: the documentation as a site, by default in build/site."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.website.build import build
from tools.website.tree import ROOT, SiteError


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.website", description="The documentation as a static site.")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "site", help="directory (default build/site)")
    output: Path = parser.parse_args(arguments).output.absolute()
    try:
        built = build(output)
    except (SiteError, OSError) as error:
        print(f"the site was not made: {error}", file=sys.stderr)
        return 1
    print(f"{built.pages} pages and the API of {built.modules} modules: open {output / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
