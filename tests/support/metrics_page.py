"""The metrics page of a running Penstock, read as Prometheus reads it."""

from __future__ import annotations

import urllib.request

from tests.support.penstock_process import PenstockProcess


def metric(process: PenstockProcess, name: str) -> float:
    """The value of a metric without labels."""
    (value,) = (line.split()[1] for line in _lines(process) if line.startswith(f"{name} "))
    return float(value)


def metric_sum(process: PenstockProcess, name: str, label: str) -> float:
    """The sum of a metric over all series with this label, written name="value"."""
    return sum(float(line.split()[-1]) for line in _lines(process) if line.startswith(f"{name}{{") and label in line)


def page(process: PenstockProcess) -> str:
    with urllib.request.urlopen(f"http://{process.host}:{process.http_port}/metrics", timeout=10) as answer:
        text: str = answer.read().decode()
    return text


def _lines(process: PenstockProcess) -> list[str]:
    return page(process).splitlines()
