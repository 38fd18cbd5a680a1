"""Pauses: a process stops itself at the place it was asked to, once, and nowhere else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from penstock.runtime.pauses import PAUSES, VARIABLE, pause_at

PROGRAM = """\
from penstock.runtime.pauses import pause_at
for name in ("prepared", "marker", "marked", "marker"):
    print(name, flush=True)
    pause_at(name)
"""


@pytest.fixture
def child() -> Iterator[subprocess.Popen[str]]:
    environment = {**os.environ, VARIABLE: "marker"}
    process = subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True, env=environment)
    yield process
    process.kill()
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


def test_a_process_stops_where_it_was_asked_to_and_only_once(child: subprocess.Popen[str]) -> None:
    _, status = os.waitpid(child.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    child.send_signal(signal.SIGCONT)
    output, _ = child.communicate(timeout=10)
    assert output.split() == ["prepared", "marker", "marked", "marker"]
    assert child.returncode == 0


def test_nothing_stops_without_the_variable() -> None:
    for name in PAUSES:
        pause_at(name)
