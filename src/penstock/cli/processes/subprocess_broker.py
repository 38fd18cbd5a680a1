"""A private broker for as long as a command runs: `penstock serve` in a child process, on free ports."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import IO

from penstock.cli.processes.child_process import end_in_order
from penstock.cli.terminal.errors import CommandError

HOST = "127.0.0.1"
START_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 30.0
POLL_S = 0.01
# Variables that would change the settings of the child.
_SETTINGS = ("PENSTOCK_", "NODE_ID", "DATA_DIR", "BROKER_PORT", "HTTP_PORT")


class SubprocessBroker:
    """A broker that runs from entry to exit; its output is in `broker.log` beside its data."""

    def __init__(self, directory: Path, *assignments: str) -> None:
        self._directory = directory
        self._assignments = ("groups.initial_rebalance_delay_ms=0", *assignments)
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None
        self.port, self.http_port = _free_ports()

    @property
    def bootstrap(self) -> str:
        return f"{HOST}:{self.port}"

    def __enter__(self) -> SubprocessBroker:
        # -P: `python -m` would take modules in the working directory for Penstock's.
        command = [sys.executable, "-P", "-m", "penstock", "serve", "--data-dir", str(self._directory / "data")]
        command += ["--host", HOST, "--kafka-port", str(self.port), "--http-port", str(self.http_port)]
        command += ["--push-port", "0"]
        for assignment in self._assignments:
            command += ["--set", assignment]
        environ = {name: value for name, value in os.environ.items() if not name.startswith(_SETTINGS)}
        self._log = self._log_file.open("wb")
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=self._log, stderr=subprocess.STDOUT, env=environ
        )
        try:
            self._wait_until_it_listens()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        code = self._stop()
        if code != 0 and kind is None:
            raise CommandError(f"the broker stopped with exit code {code}: {self._last_line()}")

    @property
    def _log_file(self) -> Path:
        return self._directory / "broker.log"

    def _wait_until_it_listens(self) -> None:
        assert self._process is not None
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                raise CommandError(f"the broker did not start: {self._last_line()}")
            try:
                socket.create_connection((HOST, self.port), 1.0).close()
            except OSError:
                time.sleep(POLL_S)
            else:
                return
        raise CommandError(f"the broker did not start within {START_TIMEOUT_S:.0f} s: {self._last_line()}")

    def _stop(self) -> int:
        process, log = self._process, self._log
        assert process is not None
        assert log is not None
        code = end_in_order(process, STOP_TIMEOUT_S)
        log.close()
        return code

    def _last_line(self) -> str:
        lines = self._log_file.read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it printed nothing"


def _free_ports() -> tuple[int, int]:
    """Return two ports that are free at the moment."""
    with socket.socket() as first, socket.socket() as second:
        for probe in (first, second):
            probe.bind((HOST, 0))
        return first.getsockname()[1], second.getsockname()[1]
