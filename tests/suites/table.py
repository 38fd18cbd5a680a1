"""The table of suites in docs/compatibility.md, written from the results of the last runs.

Results stay on the machine that they were made on. A suite that was not run on this one keeps what the page has of it.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.suites import record
from tests.suites.catalogue import SUITES, WITHOUT_TESTS
from tests.suites.comparison import Verdict
from tests.suites.suite import HERE
from tools.doc_tables import with_table

PAGE = HERE.parents[1] / "docs" / "compatibility.md"
HEAD = (
    "| tests | from | pass on Kafka | of these on Penstock | known to fail | flaky here only | flaky else | "
    "fail on both | run |",
    "|---|---|---|---|---|---|---|---|---|",
)
WITHOUT_HEAD = ("| package | why |", "|---|---|")


def lines(page: str) -> list[str]:
    """The updated block: from results where there are some, unchanged for the other suites."""
    found = {result["suite"]: result for result in record.kept()}
    rows, reasons = [], []
    for name, suite in sorted(SUITES.items()):
        if name in found:
            rows.append(_row(found[name]))
            text = _reasons(found[name])
            reasons += [f"- {name}: {text}"] if text else []
        else:
            rows += _beginning(page, f"| {suite.client} ")
            reasons += _beginning(page, f"- {name}: ")
    without = [f"| {package} | {why} |" for package, why in WITHOUT_TESTS.items()]
    return [
        *HEAD,
        *rows,
        "",
        "Known to fail:",
        "",
        *reasons,
        "",
        "Looked into and not run:",
        "",
        *WITHOUT_HEAD,
        *without,
    ]


def _beginning(page: str, words: str) -> list[str]:
    """The row or the item of the page's block that begins with these words, if there is one, in one line."""
    _, _, block = page.partition("<!-- suites -->")
    block, _, _ = block.partition("<!-- end of suites -->")
    return [line for line in block.replace("\n  ", " ").splitlines() if line.startswith(words)]


def _row(result: dict[str, Any]) -> str:
    suite = SUITES[result["suite"]]
    count = Counter({Verdict(name): number for name, number in result["verdicts"].items()})
    good = count[Verdict.SAME] + count[Verdict.LISTED_BUT_PASSES]
    flaky_here = count[Verdict.FLAKY_HERE] + count[Verdict.FLAKY_KNOWN]
    passing = good + count[Verdict.WORSE] + count[Verdict.EXPECTED] + flaky_here
    cells = (
        f"{suite.client} {result['version']}",
        suite.package,
        passing,
        good,
        count[Verdict.EXPECTED],
        flaky_here,
        count[Verdict.FLAKY],
        count[Verdict.NEITHER],
        result["date"],
    )
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def _reasons(result: dict[str, Any]) -> str:
    """Of tests that are known to fail, always or now and then."""
    reasons: Counter[str] = Counter()
    for test in result["tests"].values():
        if test["verdict"] == Verdict.EXPECTED:
            reasons[test["reason"]] += 1
        elif test["verdict"] == Verdict.FLAKY_KNOWN:
            reasons[f"now and then: {test['reason']}"] += 1
    return ", ".join(f"{reason} ({number})" for reason, number in sorted(reasons.items()))


def write() -> None:
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(with_table(text, "suites", "\n".join(lines(text))), encoding="utf-8")
