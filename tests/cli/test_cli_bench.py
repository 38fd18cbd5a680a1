"""`penstock bench`: a real broker, real load, small; from options and from scenario files."""

import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import CommandLine

SCENARIO = """
duration: 2s
topics:
  shop: {partitions: 3}
producers:
  - name: web
    topic: shop
    connections: 2
    processes: 1
    rate: {burst: {steady: 200, times: 10, after: 1s, for: 500ms}}
    size: {uniform: [50, 150]}
    keys: 20
    linger_ms: 0
  - name: batch
    topic: shop
    start: 500ms
    duration: 1s
    rate: 100
    size: {choice: {20: 1, 2000: 1}}
    content: text
    compression: zstd
    acks: 1
consumers:
  - name: all
    topic: shop
  - name: members
    topic: shop
    group: shop
    connections: 2
  - name: slow
    topic: shop
    rate: 50
"""


def test_bench_measures_both_sides_and_cleans_up(penstock: CommandLine) -> None:
    flags = ["--duration", 1, "--rate", 500, "--size", 200, "--consumers", 2, "--linger-ms", 0]
    groups = penstock("bench", *flags, "--output", "json").json["groups"]
    producers, consumers = groups["producers"], groups["consumers"]
    assert producers["messages"] == consumers["messages"] > 100
    assert producers["errors"] == consumers["errors"] == 0
    assert producers["latency_ms"]["p50"] > 0
    assert consumers["bytes"] == consumers["messages"] * 200
    assert producers["topic"] not in penstock("topic", "list").out


@pytest.mark.feature("P-24")
def test_a_terminal_shows_how_it_goes_while_it_runs(penstock: CommandLine) -> None:
    shown, found = penstock.on_terminal("bench", "--duration", 3, "--rate", 300, "--consumers", 2)
    assert {"1", "2"} <= set(re.findall(r"(\d+) s; the last second", shown))
    frames = re.findall(r"(producers|consumers) +([\d,]+) +[\d.]+ +([\d.]+|-) +([\d.]+|-) +([\d,]+) +0", shown)
    for group in ("producers", "consumers"):
        counts = [int(total.replace(",", "")) for name, _, _, _, total in frames if name == group]
        assert counts == sorted(counts)
        assert len(set(counts)) > 3, "it goes on"
    assert "p99.9" in found


@pytest.mark.feature("P-24", "K-18")
def test_a_scenario_runs_every_group_and_leaves_json_and_a_plot(penstock: CommandLine, tmp_path: Path) -> None:
    scenario, result, plot = (tmp_path / name for name in ("shop.yaml", "result.json", "result.svg"))
    scenario.write_text(SCENARIO)
    shown = penstock("bench", "--scenario", scenario, "--json", result, "--plot", plot)
    assert all(name in shown.out for name in ("web", "batch", "members", "p99.9"))
    groups = json.loads(result.read_text())["groups"]
    check_counts(groups)
    check_percentiles(groups)
    check_drawing(plot.read_text())
    assert "shop" not in penstock("topic", "list").out


def check_counts(groups: Any) -> None:
    produced = groups["web"]["messages"] + groups["batch"]["messages"]
    # 200 a second for 2 s, and nine times as many on top for half a second; 100 a second for 1 s.
    assert groups["web"]["messages"] + groups["web"]["unsent"] == pytest.approx(1300, abs=5)
    assert groups["batch"]["messages"] + groups["batch"]["unsent"] == pytest.approx(100, abs=5)
    assert groups["all"]["messages"] == produced
    assert groups["members"]["messages"] == produced
    assert 0 < groups["slow"]["messages"] < produced / 2
    assert all(group["errors"] == 0 for group in groups.values())


def check_percentiles(groups: Any) -> None:
    for group in groups.values():
        latency = group["latency_ms"]
        assert 0 < latency["p50"] <= latency["p99"] <= latency["p99.9"] <= latency["max"]
        assert sum(second["messages"] for second in group["series"]) == group["messages"]


def check_drawing(drawing: str) -> None:
    assert ElementTree.fromstring(drawing).tag.endswith("svg")
    assert "messages a second" in drawing
    assert "members p99" in drawing
    assert "<script" not in drawing


def test_a_topic_that_was_there_stays(penstock: CommandLine, tmp_path: Path) -> None:
    penstock("topic", "create", "kept", "--partitions", 1)
    scenario = tmp_path / "kept.yaml"
    scenario.write_text("duration: 500ms\nproducers: [{name: p, topic: kept, rate: 100}]\n")
    penstock("bench", "--scenario", scenario)
    assert "kept" in penstock("topic", "list").out


@pytest.mark.feature("K-18")
def test_shipped_scenarios_run(penstock: CommandLine) -> None:
    listed = penstock("bench", "--scenarios").out
    assert "burst" in listed
    found = penstock("bench", "--scenario", "steady", "--duration", "1s", "--output", "json").json
    assert found["scenario"] == "steady"
    assert found["groups"]["consumer"]["messages"] == found["groups"]["producer"]["messages"] > 0


def test_errors_of_a_group_end_in_an_exit_code(penstock: CommandLine, tmp_path: Path) -> None:
    scenario = tmp_path / "large.yaml"
    scenario.write_text(
        "duration: 1s\ntopics: {small-only: {configs: {max.message.bytes: 1000}}}\n"
        "producers: [{name: p, topic: small-only, rate: 20, size: 5000}]\n"
    )
    result = tmp_path / "result.json"
    failed = penstock("bench", "--scenario", scenario, "--json", result, code=1)
    assert "errors in p, the last:" in failed.err
    assert json.loads(result.read_text())["groups"]["p"]["errors"] > 0


def test_a_wrong_scenario_is_refused_with_its_line(penstock: CommandLine, tmp_path: Path) -> None:
    scenario = tmp_path / "wrong.yaml"
    scenario.write_text("producers:\n  - name: a\n    topic: t\n    sise: 100\n")
    assert "wrong.yaml:4: producers[0].sise: unknown key; did you mean size?" in (
        penstock("bench", "--scenario", scenario, code=2).err
    )


@pytest.mark.parametrize(
    ("flags", "message", "code"),
    [
        (["--scenario", "brust"], "did you mean burst?", 4),
        (["--scenario", "burst", "--size", 5], "--size", 2),
        (["--scenario", "burst", "--rate", 5], "--rate cannot be used with --scenario", 2),
        (["--scenario", "mixed", "--duration", 5], "--duration 5 ends before audit would start", 2),
        (["--scenario", "mixed", "--duration", "5s"], "--duration 5 ends before audit would start", 2),
        (["--duration", "soon"], "expected seconds, or a time such as 30s, 500ms or 2m", 2),
        (["--duration", "100ms"], "100ms is less than 0.5 s", 2),
        (["--duration", "0"], "0 is less than 0.5 s", 2),
        (["--plot", "result.png"], "let the name end in .svg", 2),
        (["--json", "/no/such/directory/result.json"], "there is no directory /no/such/directory", 2),
        (["--topic", "no-such-topic"], "does not exist", 4),
        (["--acks", "1", "-X", "enable.idempotence=true"], "acks", 2),
        (["--producers", 0, "--consumers", 0], "--producers or --consumers", 2),
    ],
)
def test_wrong_usage_is_named(penstock: CommandLine, flags: list[object], message: str, code: int) -> None:
    assert message in penstock("bench", *flags, code=code).err


def test_a_plot_without_pygal_says_how_to_get_it(penstock: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "pygal.py").write_text("raise ImportError")
    failed = penstock("bench", "--plot", tmp_path / "plot.svg", code=2, PYTHONPATH=str(tmp_path))
    assert "pip install 'penstock[plot]'" in failed.err
