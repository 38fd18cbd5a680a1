"""A child process that never outlives the command that started it.

It has its own session, so that Ctrl-C reaches only the command, which then ends its children in order. If the command
is killed, the kernel ends them.
"""

from __future__ import annotations

import ctypes
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO

STOP_TIMEOUT_S = 15.0
_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl(2)


class ChildProcess:
    """A process that runs from entry to exit; its output is appended to `log`, or is in `lines` if `piped`."""

    def __init__(
        self, command: Sequence[str], *, environ: Mapping[str, str], directory: Path, log: Path, piped: bool = False
    ) -> None:
        self._command = list(command)
        self._environ = dict(environ)
        self._directory = directory
        self._log = log
        self._piped = piped
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> ChildProcess:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE if self._piped else log,
                stderr=log,
                cwd=self._directory,
                env=self._environ,
                text=True,
                encoding="utf-8",
                start_new_session=True,
                preexec_fn=_end_with_parent if sys.platform == "linux" else None,
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        return self._running.pid

    @property
    def lines(self) -> IO[str]:
        out = self._running.stdout
        assert out is not None, "its output goes to the log"
        return out

    @property
    def exit_code(self) -> int | None:
        """The exit code; None while the process runs."""
        return self._running.poll()

    def wait(self) -> int:
        return self._running.wait()

    def stop(self) -> None:
        process = self._running
        end_in_order(process, STOP_TIMEOUT_S)
        if process.stdout is not None:
            process.stdout.close()

    @property
    def _running(self) -> subprocess.Popen[str]:
        assert self._process is not None, "it was not started"
        return self._process


def end_in_order(process: subprocess.Popen[str] | subprocess.Popen[bytes], timeout_s: float) -> int:
    """Send SIGTERM and, after the timeout, SIGKILL; return the exit code."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    return process.returncode


def _end_with_parent() -> None:
    ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGTERM)
