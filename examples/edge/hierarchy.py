"""The processes of the example: a registry, three brokers below each other, and the consumer application."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

HOST = "127.0.0.1"
START_SECONDS = 60.0
STOP_SECONDS = 20.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


class Process:
    """One `penstock` command with an HTTP port. Its output is in a file beside its data."""

    def __init__(self, directory: Path, name: str, *arguments: object, **variables: object) -> None:
        self.name = name
        self.http_port = free_port()
        self._log = directory / f"{name}.log"
        self._arguments = [str(argument) for argument in arguments]
        self._variables = {key: str(value) for key, value in variables.items()}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "penstock", *self._arguments],
                env=dict(os.environ) | self._variables,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is for the example, which then ends them one by one
            )

    def wait(self) -> None:
        """Until it answers."""
        deadline = time.monotonic() + START_SECONDS
        while self.get("/health/ready") is None:
            if not self.is_running or time.monotonic() > deadline:
                raise SystemExit(f"{self.name} did not start; see {self._log}")
            time.sleep(0.1)

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        if self._process is None or not self.is_running:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()

    def get(self, path: str) -> Any:
        """The answer as JSON; None if there is none."""
        try:
            with urllib.request.urlopen(f"http://{HOST}:{self.http_port}{path}", timeout=2) as answer:
                return json.load(answer)
        except (OSError, ValueError, urllib.error.URLError):
            return None


class Broker(Process):
    def __init__(self, directory: Path, name: str, role: str, registry_port: int) -> None:
        self.push_port = free_port()
        settings = {
            "registry.role": role,
            "registry.poll_interval_ms": 1000,
            "pipe.poll_interval_ms": 200,
        }
        flags = [text for key, value in settings.items() for text in ("--set", f"{key}={value}")]
        super().__init__(
            directory, name, "serve", "--push-port", self.push_port, "--kafka-port", free_port(), *flags,
            NODE_ID=name, DATA_DIR=directory / name, REGISTRY_URL=f"http://{HOST}:{registry_port}",
        )  # fmt: skip
        self._variables["HTTP_PORT"] = str(self.http_port)

    def message_count(self, topic: str) -> int | None:
        """None while it does not answer."""
        answer = self.get("/pipe/topics")
        if answer is None:
            return None
        ends = [one["logEnd"] for each in answer["topics"] if each["name"] == topic for one in each["partitions"]]
        return int(sum(ends))

    def pipe(self) -> tuple[str, int]:
        """Its health, and the HTTP port of the parent that it follows; 0 while there is none."""
        answer = self.get("/pipe/status")
        if answer is None:
            return "–", 0
        return str(answer["health"]), int(str(answer["parentUrl"]).rpartition(":")[2]) if answer["parentUrl"] else 0


class Hierarchy:
    """All of them, from the top to the bottom."""

    def __init__(self, directory: Path) -> None:
        registry_port = free_port()
        self.registry = Process(
            directory, "registry", "registry", "serve", "--port", registry_port, "--data-dir", directory / "registry"
        )
        self.registry.http_port = registry_port
        self.root = Broker(directory, "root", "ROOT", registry_port)
        self.middle = Broker(directory, "l2", "L2", registry_port)
        self.local = Broker(directory, "local", "LOCAL", registry_port)
        self.edge = Process(
            directory, "edge", "edge", BROKER_HOST=HOST, BROKER_PORT=self.local.push_port,
            STORAGE_DATA_DIR=directory / "edge",
        )  # fmt: skip
        self.edge._variables["CONSUMER_PORT"] = str(self.edge.http_port)

    @property
    def brokers(self) -> list[Broker]:
        return [self.root, self.middle, self.local]

    def start(self) -> None:
        """From the top down, so that each finds its parent at once; the order does not matter otherwise."""
        for process in (self.registry, *self.brokers, self.edge):
            process.start()
            process.wait()

    def stop(self) -> None:
        for process in (self.edge, *reversed(self.brokers), self.registry):
            process.stop()
