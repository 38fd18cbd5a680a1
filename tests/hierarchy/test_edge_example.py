"""The example of a hierarchy runs, with a broker killed in the middle of it, and everything arrives."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.feature("P-15")
def test_the_example_runs() -> None:
    command = [sys.executable, "-m", "examples.edge", "--seconds", "15"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=280, check=False)
    assert run.returncode == 0, run.stderr
    found = re.search(r"(\d+) prices published at the root, (\d+) at the bottom", run.stdout)
    assert found is not None, run.stdout
    assert int(found[1]) == int(found[2]) > 20
    assert "HEALTHY" in run.stdout
