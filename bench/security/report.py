"""`python -m bench.security.report`: the newest result of `make bench-security` into docs/performance.md.

Another one if its file is given. It takes none that leaves works or Kafka out, or was made in fewer rounds than the
default.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from bench import store
from bench.report import PAGE, machine_text, table, write
from bench.security.targets import DETAIL_HEADINGS, HEADINGS, detail_rows, rows
from bench.security.works import WORKS

ROUNDS = 3
BEGIN, END = "<!-- bench-security: begin -->", "<!-- bench-security: end -->"


def unfit(result: dict[str, Any]) -> str | None:
    """Why a result may not be quoted, None if it may."""
    options, figures = result["options"], result["security"]
    if options["rounds"] < ROUNDS:
        return f"{options['rounds']} rounds, at least {ROUNDS} are wanted"
    if "kafka" not in figures:
        return "Apache Kafka was not measured"
    if options["before"] is None:
        return "it was made without BEFORE"
    left_out = [work for work in (*WORKS, "crowd", "start") if work not in figures["penstock"]]
    return f"it leaves out {', '.join(left_out)}" if left_out else None


def markdown(result: dict[str, Any]) -> str:
    options, figures = result["options"], result["security"]
    head = f"Measured {result['at'][:10]} on {machine_text(result['machine'])}; median of {options['rounds']} rounds."
    return "\n\n".join([head, table(HEADINGS, rows(figures)), table(DETAIL_HEADINGS, detail_rows(figures))])


def main() -> None:
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else store.latest("security")
    if path is None:
        sys.exit("no result yet: make bench-security")
    result = store.load(path)
    reason = unfit(result)
    if reason is not None:
        sys.exit(f"{path} is not fit to be quoted: {reason}")
    write(markdown(result), BEGIN, END)
    print(f"{path} is now in {PAGE}")


if __name__ == "__main__":
    main()
