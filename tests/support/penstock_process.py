"""Penstock as its users run it: `python -m penstock serve` with flags and perhaps a config file.

Quick tests start some two hundred of them. Where nothing of Python or Penstock is set in the environment, the process
is forked from one that has loaded the modules; `starts_afresh` asks for a new interpreter, as does another command.
"""

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import BinaryIO

from tests.support.broker_process import BrokerProcess, free_port
from tests.support.command_server import ForkedProcess, command_server

READY = b"ready"  # the log's word, for nodes without an HTTP port
PENSTOCK = [sys.executable, "-m", "penstock"]


class PenstockProcess(BrokerProcess):
    kind = "penstock"
    starts_afresh = False

    def __init__(self, directory: Path, config: str | None = None) -> None:
        super().__init__(directory)
        self.http_port = free_port()
        self.push_port = free_port()
        self.data_directory = directory / "data"
        self._config = config
        self._log_start = 0
        self._config_file = directory / "penstock.yaml"

    def prepare(self) -> None:
        if self._config is not None:
            self._config_file.write_text(self._config)
            self._config_file.chmod(0o600)

    def command(self) -> list[str]:
        flags = ["--data-dir", str(self.data_directory), "--host", self.host, "--kafka-port", str(self.port)]
        flags += ["--http-port", str(self.http_port), "--push-port", str(self.push_port)]
        if self._config is not None:
            flags += ["--config", str(self._config_file)]
        return [*PENSTOCK, "serve", *flags]

    def _ready(self) -> bool:
        """Whether all doors are open: Kafka's is the first."""
        return super()._ready() and (self._has_http() or READY in self.log_file.read_bytes()[self._log_start :])

    def _has_http(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex((self.host, self.http_port)) == 0

    def _spawn(self, log: BinaryIO) -> subprocess.Popen[bytes] | ForkedProcess:
        self._log_start = log.tell()
        command, environ = self.command(), self.environment()
        server = command_server()
        is_usual = command[:3] == PENSTOCK and server.has_loaded_for(environ, "PYTHON", "PENSTOCK_")
        if self.starts_afresh or not is_usual:
            return super()._spawn(log)
        with open(os.devnull, "rb") as nothing:
            return server.start(command[3:], environ, (nothing, log, log), str(self.directory))
