"""Commands in a directory of somebody else: modules that lie there are not loaded by the processes they start."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.penstock_process import PenstockProcess

SCRIPT = Path(sys.executable).with_name("penstock")
NAMES = ("pickle.py", "struct.py", "multiprocessing/__init__.py", "penstock/__init__.py", "runpy.py")


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    """A directory whose modules leave a trace when they are loaded."""
    for name in NAMES:
        module = tmp_path / name
        module.parent.mkdir(exist_ok=True)
        module.write_text(f"open({str(tmp_path / 'loaded')!r}, 'a').write({name + chr(10)!r})\n")
    return tmp_path


def run_in(directory: Path, *arguments: str) -> None:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PENSTOCK_")}
    done = subprocess.run(
        [SCRIPT, *arguments], cwd=directory, env=environ, capture_output=True, text=True, timeout=120, check=False
    )
    traces = directory / "loaded"
    assert not traces.exists(), traces.read_text()
    assert done.returncode == 0, done.stderr


def test_the_broker_of_the_demo(trap: Path) -> None:
    run_in(trap, "demo", "--messages", "50", "--no-pipeline")


def test_the_processes_of_a_benchmark(trap: Path, node: PenstockProcess) -> None:
    flags = ("--duration", "1", "--rate", "100", "--consumers", "1")
    run_in(trap, "bench", "--bootstrap-server", node.bootstrap, *flags)
