"""The installed `penstock serve` on free ports, in a directory of its own."""

from __future__ import annotations

import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Self

from tools.smoke.environment import Environment, SmokeError, clean_environ

START_TIMEOUT_S = 60
STOP_TIMEOUT_S = 60
_POLL_S = 0.05


def free_ports(count: int) -> list[int]:
    probes = [socket.socket() for _ in range(count)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [int(probe.getsockname()[1]) for probe in probes]
    for probe in probes:
        probe.close()
    return ports


class Service:
    """The service, which runs from entry to exit of the block; `stop` ends it and returns the exit code."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self.kafka_port, self.push_port, self.http_port = free_ports(3)
        self.data: Path = environment.directory / "data"
        self._log = environment.directory / "serve.log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.kafka_port}"

    @property
    def log(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")

    def __enter__(self) -> Self:
        ports = [
            "--kafka-port",
            str(self.kafka_port),
            "--push-port",
            str(self.push_port),
            "--http-port",
            str(self.http_port),
        ]
        command = self._environment.command("serve", "--data-dir", str(self.data), *ports)
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._environment.directory,
                env=clean_environ(),
            )
        try:
            self._wait_until_ready(self._process)
        except BaseException:
            self._kill()
            raise
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._kill()

    def get(self, path: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.http_port}{path}", timeout=START_TIMEOUT_S) as answer:
            return str(answer.read().decode())

    def stop(self) -> int:
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        try:
            return self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired as error:
            raise SmokeError(f"it did not stop within {STOP_TIMEOUT_S} s\n{self.log}") from error

    def _wait_until_ready(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            if process.poll() is not None:
                raise SmokeError(f"serve ended with {process.returncode}\n{self.log}")
            try:
                self.get("/health/ready")
                return
            except (urllib.error.URLError, OSError):
                time.sleep(_POLL_S)
        raise SmokeError(f"serve was not ready within {START_TIMEOUT_S} s\n{self.log}")

    def _kill(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()
