"""Reports of test runners, read into one form: the name of each test and how it ended."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

from tests.suites.suite import Outcome, Result

MESSAGE_LENGTH = 300


def _short(text: str | None) -> str:
    return " ".join((text or "").split())[:MESSAGE_LENGTH]


def from_junit(file: Path) -> dict[str, Result]:
    """JUnit XML as pytest writes it; a test is named as pytest would take it."""
    if not file.exists():
        return {}
    results = {}
    for case in ElementTree.parse(file).iter("testcase"):
        name = f"{case.get('classname', '')}::{case.get('name', '')}"
        bad = case.find("failure") if case.find("failure") is not None else case.find("error")
        outcome, message = Outcome.PASSED, ""
        if bad is not None:
            outcome, message = Outcome.FAILED, _short(bad.get("message"))
        elif (skipped := case.find("skipped")) is not None:
            outcome, message = Outcome.SKIPPED, _short(skipped.get("message"))
        results[name] = Result(outcome=outcome, seconds=float(case.get("time", 0)), message=message)
    return results


def from_go(lines: Iterable[str]) -> dict[str, Result]:
    """The lines of `go test -json`. Only leaves count: a test with subtests is the sum of them."""
    results: dict[str, Result] = {}
    said: dict[str, list[str]] = {}
    running: set[str] = set()
    ends = {"pass": Outcome.PASSED, "fail": Outcome.FAILED, "skip": Outcome.SKIPPED}
    for line in lines:
        if not line.startswith("{"):
            continue
        try:
            event = json.loads(line)
        except ValueError:
            continue
        name = event.get("Test")
        if name is None:
            continue
        if event["Action"] == "output":
            said.setdefault(name, []).append(event["Output"])
        elif event["Action"] == "run":
            running.add(name)
        elif event["Action"] in ends:
            running.discard(name)
            outcome = ends[event["Action"]]
            seconds = float(event.get("Elapsed", 0))
            results[name] = Result(outcome=outcome, seconds=seconds, message=_go_reason(said.get(name, []), outcome))
    for name in running:  # the process ended before the test did
        results[name] = Result(outcome=Outcome.FAILED, message="did not end")
    inner = {name.rpartition("/")[0] for name in results}
    return {name: result for name, result in results.items() if name not in inner}


def _go_reason(said: list[str], outcome: Outcome) -> str:
    if outcome is Outcome.PASSED:
        return ""
    reasons = [line.strip() for line in said if re.match(r"\s+\w+\.go:\d+", line) or "panic:" in line]
    return _short(" ".join(reasons[-3:]))


def from_mocha(file: Path) -> dict[str, Result]:
    """Mocha's JSON reporter."""
    if not file.exists():
        return {}
    report = json.loads(file.read_text())
    pending = {test["fullTitle"] for test in report["pending"]}
    failed = {test["fullTitle"]: _short(test["err"].get("message")) for test in report["failures"]}
    results = {}
    for test in report["tests"]:
        name = test["fullTitle"]
        outcome = Outcome.SKIPPED if name in pending else Outcome.FAILED if name in failed else Outcome.PASSED
        seconds = float(test.get("duration") or 0) / 1000
        results[name] = Result(outcome=outcome, seconds=seconds, message=failed.get(name, ""))
    return results
