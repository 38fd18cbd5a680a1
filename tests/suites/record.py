"""Results of suites, one JSON file each in `results`, from which the table is made."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.suites.comparison import Compared, counts
from tests.suites.suite import HERE, Outcome, Result, Suite

RESULTS = HERE / "results"


def keep(suite: Suite, compared: Sequence[Compared], seconds: float) -> None:
    RESULTS.mkdir(exist_ok=True)
    document = {
        "suite": suite.name,
        "version": suite.version,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "seconds": round(seconds),
        "verdicts": {str(verdict): count for verdict, count in sorted(counts(compared).items())},
        "tests": {
            one.test: {
                "verdict": str(one.verdict),
                "reason": one.reason,
                "kafka": [_plain(result) for result in one.kafka],
                "penstock": [_plain(result) for result in one.penstock],
            }
            for one in compared
        },
    }
    (RESULTS / f"{suite.name}.json").write_text(json.dumps(document, indent=1) + "\n")


def keep_run(suite: Suite, kind: str, results: Mapping[str, Result]) -> None:
    """The result of a whole run, from which a later one can take those of the control."""
    RESULTS.mkdir(exist_ok=True)
    plain = {test: _plain(result) for test, result in results.items()}
    _run_file(suite, kind).write_text(json.dumps(plain, indent=1) + "\n")


def kept_run(suite: Suite, kind: str) -> dict[str, Result] | None:
    """The last whole run of this version of the suite, if there was one."""
    file = _run_file(suite, kind)
    if not file.exists():
        return None
    return {
        test: Result(outcome=Outcome(plain["outcome"]), seconds=plain["seconds"], message=plain.get("message", ""))
        for test, plain in json.loads(file.read_text()).items()
    }


def _run_file(suite: Suite, kind: str) -> Path:
    return RESULTS / f"{suite.name}-{suite.version}.{kind}"


def _plain(result: Result) -> dict[str, Any]:
    plain: dict[str, Any] = {"outcome": str(result.outcome), "seconds": round(result.seconds, 1)}
    return {**plain, "message": result.message} if result.message else plain


def kept() -> list[dict[str, Any]]:
    """The results that are there, by suite."""
    return [json.loads(file.read_text()) for file in sorted(RESULTS.glob("*.json"))]
