"""docs/operations.md knows every metric and every alert, and invents none."""

import re
from pathlib import Path

import yaml

from penstock.broker.telemetry.series import INFO
from penstock.config.references import VARIABLES
from penstock.observability.exposition import LAG_FAMILIES, LOG_FAMILIES, pages
from penstock.observability.metrics import BrokerMetrics
from penstock.runtime.files import Calls

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "operations.md"
ALERTS = ROOT / "deploy" / "prometheus" / "alerts.yml"
# Gauges that the node adds to the metrics.
NODE_PROBES = [
    ROOT / "src" / "penstock" / "node" / name for name in ("probes.py", "push_door.py", "security/access.py")
]
# Families of parts that a node may have or not; their counters are written without _total.
PART_PROBES = [
    ROOT / "src" / "penstock" / "node" / "admission.py",
    ROOT / "src" / "penstock" / "node" / "security" / "certificates.py",
    ROOT / "src" / "penstock" / "node" / "topology.py",
    ROOT / "src" / "penstock" / "topology" / "registry" / "probe.py",
    ROOT / "src" / "penstock" / "topology" / "pipe" / "status.py",
]


def text() -> str:
    return PAGE.read_text(encoding="utf-8")


def section(title: str) -> str:
    """The text below a heading, up to the next one of the same level."""
    return text().partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def exposed_metrics() -> set[str]:
    metrics = BrokerMetrics({}, PAGE.parent, Calls())
    heads = b"".join(pages(metrics.registry, [], [])).decode()
    names = set(re.findall(r"^# TYPE (\S+)", heads, re.MULTILINE))
    names |= {name for name, _ in (*LOG_FAMILIES, *LAG_FAMILIES)} | {INFO}
    for probe in PART_PROBES:
        families = re.findall(r'(counter|gauge)\(\s*"(penstock_\w+)"', probe.read_text(encoding="utf-8"))
        names |= {name + "_total" * (kind == "counter") for kind, name in families}
    for probe in NODE_PROBES:
        names |= set(re.findall(r'"(penstock_\w+)"', probe.read_text(encoding="utf-8")))
    return names


def test_variables_are_there() -> None:
    assert all(f"`{name}`" in section("Settings") for name in VARIABLES)


def test_every_metric_is_explained_and_none_is_invented() -> None:
    rows = re.findall(r"^\| (`(?:penstock|process)_.*?) \|", section("Metrics"), re.MULTILINE)
    explained = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert explained == exposed_metrics()


def test_metrics_named_elsewhere_exist() -> None:
    assert set(re.findall(r"`(penstock_[a-z_]+)`", text())) <= exposed_metrics()


def test_every_alert_is_explained() -> None:
    (group,) = yaml.safe_load(ALERTS.read_text(encoding="utf-8"))["groups"]
    named = set(re.findall(r"`(Penstock\w+)`", section("Prometheus and alerts")))
    assert named == {rule["alert"] for rule in group["rules"]}
