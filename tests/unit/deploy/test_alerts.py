"""The alerts are valid, and about metrics that exist."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from penstock.observability.exposition import LAG_FAMILIES, LOG_FAMILIES, pages
from penstock.observability.metrics import BrokerMetrics

DEPLOY = Path(__file__).parents[3] / "deploy" / "prometheus"
# Gauges that the node adds to the metrics.
NODE = Path(__file__).parents[3] / "src" / "penstock" / "node"
NODE_PROBES = "".join((NODE / name).read_text() for name in ("probes.py", "push_door.py"))


def expressions() -> dict[str, str]:
    (group,) = yaml.safe_load((DEPLOY / "alerts.yml").read_text())["groups"]
    return {rule["alert"]: rule["expr"] for rule in group["rules"]}


def existing_metrics() -> set[str]:
    metrics = BrokerMetrics({0: "Produce"}, DEPLOY)
    metrics.requests.observe(0, 0.1)
    metrics.connection_refused("total")
    text = b"".join(pages(metrics.registry, [], [])).decode()
    names = set(re.findall(r"^(\w+)(?:\{| )", text, re.MULTILINE))
    names |= {name for name, _ in (*LOG_FAMILIES, *LAG_FAMILIES)}
    return names | set(re.findall(r'"(penstock_\w+)"', NODE_PROBES))


def test_every_metric_that_an_alert_names_exists() -> None:
    existing = existing_metrics()
    for alert, expression in expressions().items():
        named = set(re.findall(r"\b(?:penstock|process)_\w+", expression))
        assert named <= existing, alert
        assert named or "up{" in expression, alert


@pytest.mark.parametrize(
    "subject", ["disk_free", "consumer_lag", "loop_lag", "offline_partitions", "damaged_partitions"]
)
def test_what_matters_has_an_alert(subject: str) -> None:
    assert any(subject in expression for expression in expressions().values())


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
@pytest.mark.parametrize(
    "command", [["check", "rules", "alerts.yml"], ["check", "config", "prometheus.yml"]], ids=["rules", "config"]
)
def test_promtool_accepts_the_files(command: list[str]) -> None:
    done = subprocess.run(["promtool", *command], cwd=DEPLOY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
