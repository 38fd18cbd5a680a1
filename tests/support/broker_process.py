"""A broker as a separate process in a directory of its own, whichever broker it is.

Subclasses say how to prepare the directory and what to run. The process is started, stopped, killed and
started again here, always by its own id, and its output is kept in a file that a failing test can print.
"""

import os
import random
import signal
import socket
import subprocess
from pathlib import Path
from typing import BinaryIO

from tests.support.command_server import ForkedProcess
from tests.support.waiting import wait_until
from tests.support.wire import Connection, ConnectionClosed

HOST = "127.0.0.1"
# For steps that take a second on an idle machine: however busy it is, only a broker that hangs takes this long.
START_DEADLINE_S = 180.0
STOP_DEADLINE_S = 120.0


# Below the range of ephemeral ports. Each worker of a test run has a share of its own: a port that one of them has
# given to a broker that is still starting, or that is down for a moment, is free in the eyes of another.
_FIRST_PORT, _PORTS = 10_240, 22_528
_given_ports: set[int] = set()


def free_port() -> int:
    """A port without a listener that was not given out before, by no worker of this test run."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    share = _PORTS // int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    while True:
        port = _FIRST_PORT + worker * share + random.SystemRandom().randrange(share)
        if port in _given_ports:
            continue
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
        _given_ports.add(port)
        return port


def answers_kafka(host: str, port: int) -> bool:
    """Whether an ApiVersions request gets an answer."""
    try:
        with Connection(host, port, timeout_s=2.0) as connection:
            return int(connection.call("api_versions", 0).error_code) == 0
    except (OSError, ConnectionClosed):
        return False


class BrokerProcess:
    """One broker process. Tests branch on `kind`, and on `is_durable`: whether data survives a restart."""

    kind = ""
    is_durable = True

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.host = HOST
        self.port = free_port()
        self.log_file = directory / "broker.log"
        self._process: subprocess.Popen[bytes] | ForkedProcess | None = None
        directory.mkdir(parents=True, exist_ok=True)

    @property
    def bootstrap(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None, "the broker is not running"
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def prepare(self) -> None:
        """Make the directory ready before the first start."""

    def command(self) -> list[str]:
        raise NotImplementedError

    def environment(self) -> dict[str, str]:
        return dict(os.environ)

    def clean_exit_codes(self) -> tuple[int, ...]:
        return (0,)

    def start(self) -> None:
        assert not self.running, "the broker is already running"
        with self.log_file.open("ab") as log:
            self._process = self._spawn(log)
        try:
            wait_until(self._ready, what=f"{self.kind} answers on {self.bootstrap}", within_s=START_DEADLINE_S)
        except AssertionError as error:
            self.kill9()
            raise AssertionError(f"{error}\n{self.log_tail()}") from error

    def _spawn(self, log: BinaryIO) -> subprocess.Popen[bytes] | ForkedProcess:
        return subprocess.Popen(
            self.command(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=self.directory,
            env=self.environment(),
        )

    def _ready(self) -> bool:
        assert self.running, f"{self.kind} ended with {self._process and self._process.returncode}"
        return answers_kafka(self.host, self.port)

    def stop(self) -> None:
        """Ask it to stop and check that it does so cleanly."""
        if self._process is None:
            return
        process, self._process = self._process, None
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(STOP_DEADLINE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                raise AssertionError(f"{self.kind} did not stop\n{self.log_tail()}") from None
        assert process.returncode in self.clean_exit_codes(), (
            f"{self.kind} stopped with {process.returncode}\n{self.log_tail()}"
        )

    def kill9(self) -> None:
        if self._process is None:
            return
        process, self._process = self._process, None
        process.kill()
        process.wait()

    def restart(self) -> None:
        self.stop()
        self.start()

    def log_tail(self, lines: int = 60) -> str:
        if not self.log_file.exists():
            return ""
        return "\n".join(self.log_file.read_text(errors="replace").splitlines()[-lines:])
