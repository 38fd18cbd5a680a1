"""The alerts are valid, and about metrics that exist."""

import re
from pathlib import Path

import promql_parser
import pytest
import yaml

from penstock.config.settings import HttpSettings, Settings
from penstock.node.admission import build_doors, connect_admission_probes
from penstock.observability.exposition import LAG_FAMILIES, LOG_FAMILIES, pages
from penstock.observability.health import Health
from penstock.observability.metrics import BrokerMetrics
from tests.unit.deploy.rule_file import problems

DEPLOY = Path(__file__).parents[3] / "deploy" / "prometheus"
# Gauges that the node adds to the metrics.
NODE = Path(__file__).parents[3] / "src" / "penstock" / "node"
PROBES = ("probes.py", "push_door.py", "security/access.py", "security/certificates.py")
NODE_PROBES = "".join((NODE / name).read_text() for name in PROBES)


def expressions() -> dict[str, str]:
    (group,) = yaml.safe_load((DEPLOY / "alerts.yml").read_text())["groups"]
    return {rule["alert"]: rule["expr"] for rule in group["rules"]}


def existing_metrics() -> set[str]:
    metrics = BrokerMetrics({0: "Produce"}, DEPLOY)
    metrics.requests.observe(0, 0.1)
    doors = build_doors(Settings())
    doors.kafka.refused["total"] += 1
    connect_admission_probes(doors.admission, metrics, Health())
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


def test_prometheus_accepts_the_alerts() -> None:
    assert problems((DEPLOY / "alerts.yml").read_text()) == []


GOOD = """
groups:
  - name: penstock
    rules:
      - alert: Late
        expr: histogram_quantile(0.99, sum by (le) (rate(penstock_flush_seconds_bucket[5m]))) > 0.25
        for: 1m
        labels: {severity: warning}
        annotations: {summary: "{{ $value | humanize }} of {{ $labels.instance }}"}
"""


@pytest.mark.parametrize(
    ("right", "wrong", "told"),
    [
        ("[5m]", "", "expected type matrix"),
        ("[5m]", "[5 minutes]", "Late: "),
        ("sum by", "summe by", "Late: "),
        ("rate(", "frequency(", "unknown function"),
        ("> 0.25", ">", "Late: "),
        ("for: 1m", "for: a while", "for: "),
        ("for: 1m", "until: 1m", "unknown until"),
        ("severity:", "how-bad:", "how-bad is not a name"),
        ("$value", "$wert", "is not $value"),
        ("| humanize", "| vermenschliche", "unknown function 'vermenschliche'"),
        ("{{ $labels.instance }}", "{{ $labels.instance", "not closed"),
        ("- alert: Late", "- alarm: Late", "unknown alarm"),
        ("- name: penstock", "- nome: penstock", "groups need names"),
    ],
)
def test_mistakes_in_rules_are_found(right: str, wrong: str, told: str) -> None:
    assert problems(GOOD) == []
    assert right in GOOD
    assert any(told in problem for problem in problems(GOOD.replace(right, wrong)))


def test_a_rule_that_is_there_twice_is_found() -> None:
    again = GOOD[GOOD.index("      - alert") :]
    assert any("twice" in problem for problem in problems(GOOD.rstrip("\n") + "\n" + again))


def test_the_sample_configuration_scrapes_a_broker_and_loads_the_alerts() -> None:
    content = yaml.safe_load((DEPLOY / "prometheus.yml").read_text())
    assert content.keys() == {"global", "rule_files", "scrape_configs"}
    assert content["rule_files"] == ["alerts.yml"]
    for duration in content["global"].values():
        assert promql_parser.parse_duration(duration).total_seconds() > 0
    (job,) = content["scrape_configs"]
    assert job.keys() == {"job_name", "static_configs"}
    (targets,) = (entry["targets"] for entry in job["static_configs"])
    assert targets == [f"127.0.0.1:{HttpSettings().port}"]
    assert any(f'job="{job["job_name"]}"' in expression for expression in expressions().values())
