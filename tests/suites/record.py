"""Results of suites, one JSON file each in `results`, from which the table is made."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

from tests.suites.comparison import Compared, counts
from tests.suites.suite import HERE, Result, Suite

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


def _plain(result: Result) -> dict[str, Any]:
    plain: dict[str, Any] = {"outcome": str(result.outcome), "seconds": round(result.seconds, 1)}
    return {**plain, "message": result.message} if result.message else plain


def kept() -> list[dict[str, Any]]:
    """The results that are there, by suite."""
    return [json.loads(file.read_text()) for file in sorted(RESULTS.glob("*.json"))]
