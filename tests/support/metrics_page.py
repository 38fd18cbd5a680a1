"""The metrics page of a running Penstock, read as Prometheus reads it."""

from __future__ import annotations

import urllib.request

from tests.support.penstock_process import PenstockProcess


def metric(process: PenstockProcess, name: str) -> float:
    """One without labels."""
    with urllib.request.urlopen(f"http://{process.host}:{process.http_port}/metrics", timeout=10) as page:
        lines = page.read().decode().splitlines()
    (value,) = (line.split()[1] for line in lines if line.startswith(f"{name} "))
    return float(value)
