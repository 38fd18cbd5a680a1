"""The tables that a result becomes."""

from bench.report import markdown, text
from bench.tables import ratio_rows
from bench.targets import RATIOS

PENSTOCK = {"produce_batches": {"messages_per_s": 2e6}, "acknowledge": {"p50_ms": 0.3, "p99_ms": 2.0}}
KAFKA = {"produce_batches": {"messages_per_s": 1e6}, "acknowledge": {"p50_ms": 0.4, "p99_ms": 2.0}}


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


def test_the_page_names_machine_and_day() -> None:
    machine = {"cores": 2, "processor": "a CPU", "memory_gib": 8, "system": "Linux 6", "python": "3.11.2"}
    result = {
        "at": "2026-01-02T03:04:05+00:00",
        "machine": machine,
        "conditions": "median of 3",
        "medians": {"penstock": PENSTOCK, "kafka": KAFKA},
        "clients": {"penstock": {"tool": {"messages_per_s": 300.0}}, "kafka": {"tool": {"messages_per_s": 200.0}}},
        "age": {"segments": {"fetch": 0.98, "produce_batches": 1.01, "produce_single": 0.95}},
    }
    page = markdown(result)
    assert "2026-01-02" in page
    assert "2 cores (a CPU), 8 GiB" in page
    assert "| 2.00 × |" in page
    assert "| tool | 200 msg/s | 300 msg/s | 1.50 × |" in page
    assert "| 1,000 segments | 0.98 × | 1.01 × | 0.95 × |" in page
    assert "missed" in text({"penstock": PENSTOCK, "kafka": KAFKA})
