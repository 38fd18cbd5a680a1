"""The worker process: results, errors, death, and no survivors."""

from __future__ import annotations

import math
import os
import re
import signal
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import penstock.runtime.worker as worker_module
from penstock.runtime.worker import ProcessWorker, WorkerDied


@pytest.fixture
def worker() -> Iterator[ProcessWorker]:
    process_worker = ProcessWorker()
    yield process_worker
    process_worker.close()


def call(worker: ProcessWorker, function: Callable[..., Any], *args: Any) -> tuple[Any, BaseException | None]:
    answered = threading.Event()
    answer: list[tuple[Any, BaseException | None]] = []

    def done(result: Any, error: BaseException | None) -> None:
        answer.append((result, error))
        answered.set()

    worker.submit(done, function, *args)
    assert answered.wait(30)
    return answer[0]


def test_results_and_errors_come_back(worker: ProcessWorker) -> None:
    assert call(worker, math.sqrt, 9) == (3.0, None)
    result, error = call(worker, math.sqrt, -1)
    assert result is None
    assert isinstance(error, ValueError)
    assert call(worker, os.getppid) == (os.getpid(), None)


def test_large_values_travel_beside_the_pickle(worker: ProcessWorker) -> None:
    data = os.urandom(3_000_000)
    assert call(worker, zlib.crc32, memoryview(data)) == (zlib.crc32(data), None)
    copies, error = call(worker, list, [memoryview(data)[1:], bytearray(), 7])
    assert error is None
    assert copies == [data[1:], b"", 7]
    copies[0][0] ^= 1


def test_printing_does_not_mix_with_answers(worker: ProcessWorker) -> None:
    assert call(worker, print, "a task that prints") == (None, None)


def test_it_is_nicer_than_the_broker(worker: ProcessWorker) -> None:
    nicest = 19
    assert call(worker, os.nice, 0)[0] == min(os.nice(0) + 10, nicest)


def test_a_worker_that_was_killed_is_started_again(worker: ProcessWorker) -> None:
    first, _ = call(worker, os.getpid)
    _, error = call(worker, os.kill, first, signal.SIGKILL)
    assert isinstance(error, WorkerDied)
    second, error = call(worker, os.getpid)
    assert error is None
    assert second != first


def test_closing_ends_a_running_task() -> None:
    worker = ProcessWorker()
    pid, _ = call(worker, os.getpid)
    worker.submit(lambda *_: None, time.sleep, 3600)
    worker.close()
    assert not Path(f"/proc/{pid}").exists()


def test_it_dies_with_its_parent() -> None:
    program = (
        "import os, threading, time; from penstock.runtime.worker import ProcessWorker; w = ProcessWorker();"
        "e = threading.Event();"
        "w.submit(lambda pid, _: (print(pid, flush=True), e.set()), os.getpid); e.wait();"
        "w.submit(lambda *_: None, time.sleep, 3600); time.sleep(3600)"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.kill()
    deadline = time.monotonic() + 10
    while _is_running(pid):
        assert time.monotonic() < deadline, "the worker outlived its parent"
        time.sleep(0.01)


def test_modules_in_the_working_directory_are_not_loaded(tmp_path: Path) -> None:
    loaded = tmp_path / "loaded"
    for name in ("pickle.py", "struct.py", "penstock/__init__.py", "sitecustomize.py", "usercustomize.py"):
        module = tmp_path / name
        module.parent.mkdir(exist_ok=True)
        module.write_text(f"open({str(loaded)!r}, 'a').write({name!r})\n")
    program = (
        "import os, threading; from penstock.runtime.worker import ProcessWorker; w = ProcessWorker();"
        "e = threading.Event(); w.submit(lambda where, error: (print(where, error), e.set()), os.getcwd); e.wait()"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == [str(tmp_path), "None"]
    assert not loaded.exists(), loaded.read_text()


def test_every_python_that_penstock_starts_ignores_the_working_directory() -> None:
    """All but the worker of a pipeline, whose directory is the project that it runs."""
    source = Path(worker_module.__file__).parents[1]
    starts = [
        (path.name, line.strip())
        for path in sorted(source.rglob("*.py"))
        for line in path.read_text().splitlines()
        if re.search(r"\[sys\.executable,", line) and path.name != "update.py"
    ]
    assert {name for name, _ in starts} == {"worker.py", "subprocess_broker.py"}
    assert all('[sys.executable, "-P", ' in line for _, line in starts), starts


def _is_running(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
