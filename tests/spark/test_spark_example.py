"""The notebook of the docs runs as it stands."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.broker_process import BrokerProcess

EXAMPLE = Path(__file__).parents[2] / "examples" / "topics_as_tables.py"


@pytest.mark.spark
@pytest.mark.feature("X-04")
@pytest.mark.timeout(600)
def test_topics_as_tables(broker: BrokerProcess) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE), broker.bootstrap], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert "|  ACME|     3|12.5|   9|" in done.stdout
    assert "|  ACME| 11.0|" in done.stdout
    assert done.stdout.count('{"symbol":"PIPE"') == 2
    assert '"price":12.5' not in done.stdout
