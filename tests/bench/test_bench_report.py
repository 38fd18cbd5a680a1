"""The tables that a result becomes."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from bench import report, store
from bench.fitness import LEAST, unfit
from bench.report import markdown, text
from bench.tables import limit_rows, ratio_rows, summary
from bench.targets import RATIOS, Medians

PENSTOCK = {"produce_batches": {"messages_per_s": 2e6}, "acknowledge": {"p50_ms": 0.3, "p99_ms": 2.0}}
KAFKA = {"produce_batches": {"messages_per_s": 1e6}, "acknowledge": {"p50_ms": 0.4, "p99_ms": 2.0}}


MACHINE = {"cores": 2, "processor": "a CPU", "memory_gib": 8, "system": "Linux 6", "python": "3.11.2"}


def result(at: str = "2026-01-02T03:04:05+00:00", **options: Any) -> dict[str, Any]:
    return {
        "at": at,
        "machine": MACHINE,
        "conditions": "median of 3",
        "options": {**LEAST["bench"], "penstock_only": False, "only": None, **options},
        "medians": {"penstock": PENSTOCK, "kafka": KAFKA},
    }


def verdicts() -> dict[str, list[str]]:
    return {row[0]: row[3:] for row in ratio_rows({"penstock": PENSTOCK, "kafka": KAFKA})}


def test_a_ratio_is_reached_or_missed() -> None:
    found = verdicts()
    assert found["produce, 1000 × 100 B a batch, 5 in flight"] == ["2.00 ×", "≥ 1.5 ×", "≥ 3 ×", "reached"]
    assert found["ack, 1 in flight: p50"] == ["0.75 ×", "≤ 1 ×", "≤ 0.5 ×", "reached"]
    assert found["ack, 1 in flight: p99"] == ["1.00 ×", "≤ 0.5 ×", "≤ 0.2 ×", "missed"]


def test_only_what_was_measured_is_shown() -> None:
    assert len(verdicts()) == 3 < len(RATIOS)


def test_penstock_alone_has_no_ratio() -> None:
    assert {row[3] for row in ratio_rows({"penstock": PENSTOCK})} == {"–"}


def test_a_work_that_penstock_failed_at_is_missed() -> None:
    figures: dict[str, Medians] = {
        "penstock": {"fetch": {"failed": 1.0}, "connections": {"failed": 1.0}},
        "kafka": {"fetch": {}},
    }
    assert {row[-1] for row in ratio_rows(figures) + limit_rows(figures)} == {"missed"}


def test_the_summary_names_what_is_missed() -> None:
    assert summary({"penstock": PENSTOCK, "kafka": KAFKA}) == "missed, 1 of 4: ack, 1 in flight: p99"
    assert "not judged, 3 of 4" in summary({"penstock": PENSTOCK})
    kafka = {**KAFKA, "acknowledge": {"p50_ms": 1.0, "p99_ms": 9.0}}
    assert summary({"penstock": PENSTOCK, "kafka": kafka}) == "all 4 figures to reach are reached"


def test_the_page_names_machine_and_day() -> None:
    made = {"at": "2026-02-03T00:00:00+00:00", "machine": MACHINE}
    page = markdown(
        {
            **result(),
            "clients": {"penstock": {"tool": {"messages_per_s": 300.0}}, "kafka": {"tool": {"messages_per_s": 200.0}}},
            "age": {"segments": {"fetch": 0.98, "produce_batches": 1.01, "produce_single": 0.95}},
            "longer": {"clients": made, "age": {**made, "machine": {**MACHINE, "cores": 4}}},
        }
    )
    assert "2026-01-02 on 2 cores (a CPU), 8 GiB" in page
    assert "| 2.00 × |" in page
    assert "`make bench-clients`, measured 2026-02-03:" in page
    assert "| tool | 200 msg/s | 300 msg/s | 1.50 × |" in page
    assert "`make bench-age`, measured 2026-02-03 on 4 cores (a CPU)" in page
    assert "| 1,000 segments | 0.98 × | 1.01 × | 0.95 × |" in page
    assert "missed" in text({"penstock": PENSTOCK, "kafka": KAFKA})


def test_the_page_says_how_a_steady_client_fared() -> None:
    times = {"acknowledged": {"p50_ms": 1.0, "p99_ms": 2.0}}
    one = {
        "judged": True,
        "problem": None,
        "alone": times,
        "beside": times,
        "factor": {"acknowledged": 1.0},
        "limit_ms": {"acknowledged": 4.0},
    }
    load = {"a crowd": one, "a burst": {**one, "judged": False, "problem": "could not judge"}}
    page = markdown({**result(), "load": load, "longer": {"load": result()}})
    assert "| a crowd | 2.00 | 2.00 | 1.00 × | 4.00 | reached |" in page
    assert "| a burst | 2.00 | 2.00 | 1.00 × | 4.00 | not judged |" in page


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({}, None),
        ({"rounds": 5}, None),
        ({"rounds": 2}, "rounds 2, at least 3 are wanted"),
        ({"seconds": 2.0}, "seconds 2, at least 4 are wanted"),
        ({"penstock_only": True}, "made with --penstock-only"),
        ({"only": ["fetch"]}, "made with --only"),
    ],
)
def test_what_may_be_quoted(options: dict[str, Any], reason: str | None) -> None:
    assert unfit("bench", result(**options)) == reason


def test_a_result_that_does_not_say_how_it_was_made_is_not_quoted() -> None:
    assert unfit("bench", {"medians": {}}) is not None


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(store, "RESULTS", tmp_path)
    page = tmp_path / "performance.md"
    page.write_text(f"before\n{report.BEGIN}\n{report.END}\nafter\n")
    monkeypatch.setattr(report, "PAGE", page)
    monkeypatch.setattr(sys, "argv", ["report", "--choose", "--write"])
    return tmp_path


def keep(directory: Path, day: int, **options: Any) -> None:
    at = f"2026-01-{day:02}T00:00:00+00:00"
    (directory / f"bench-2026-01-{day:02}-000000.json").write_text(json.dumps(result(at, **options)))


def test_the_newest_fit_result_is_chosen_and_written(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep(results, 1)
    keep(results, 2)
    keep(results, 3, penstock_only=True)
    report.main()
    said = capsys.readouterr().out
    assert "passed over: bench-2026-01-03-000000.json: made with --penstock-only" in said
    assert "missed, 1 of 4: ack, 1 in flight: p99" in said
    assert "Measured 2026-01-02 on 2 cores" in (results / "performance.md").read_text()
    assert (results / "2026-01-02.json").exists()


def test_a_longer_run_that_was_made_elsewhere_stays(results: Path) -> None:
    """It is in the last chosen result, and its own file is on another machine."""
    made = {"at": "2025-12-24T00:00:00+00:00", "machine": MACHINE}
    age = {"segments": {"fetch": 0.98, "produce_batches": 1.01, "produce_single": 0.95}}
    (results / "2026-01-01.json").write_text(json.dumps({**result(), "age": age, "longer": {"age": made}}))
    keep(results, 2)
    report.main()
    page = (results / "performance.md").read_text()
    assert "Measured 2026-01-02 on 2 cores" in page
    assert "`make bench-age`, measured 2025-12-24:" in page
    assert "| 1,000 segments | 0.98 × | 1.01 × | 0.95 × |" in page


def test_nothing_is_written_without_a_fit_result(results: Path) -> None:
    keep(results, 1, rounds=1)
    with pytest.raises(SystemExit, match="no result is fit to be quoted"):
        report.main()
    assert "Measured" not in (results / "performance.md").read_text()


def test_a_result_that_is_named_is_refused_as_well(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(results, 1, seconds=1.0)
    path = results / "bench-2026-01-01-000000.json"
    monkeypatch.setattr(sys, "argv", ["report", str(path), "--write"])
    with pytest.raises(SystemExit, match="seconds 1, at least 4 are wanted"):
        report.main()
