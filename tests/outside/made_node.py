"""A node as `penstock security init` makes it: TLS and logins at every door."""

from __future__ import annotations

import os
import socket
import ssl
import sys
from pathlib import Path

from tests.support.command_line import CommandLine
from tests.support.penstock_process import PenstockProcess
from tests.support.waiting import wait_until
from tests.web_login.secured import WebClient


class MadeNode(PenstockProcess):
    """`variables` are settings beside those that the command writes. The administrator is `admin`."""

    def __init__(self, directory: Path, **variables: str) -> None:
        super().__init__(directory)
        self._files = directory / "security"
        self._variables = variables
        self.password = ""

    @property
    def ports(self) -> dict[str, int]:
        return {"kafka": self.port, "push": self.push_port, "http": self.http_port}

    @property
    def authority(self) -> Path:
        return self._files / "ca.pem"

    @property
    def client_context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.authority))

    def prepare(self) -> None:
        made = CommandLine(None)(
            "security", "init", "--directory", self._files, "--data-dir", self.data_directory, "--listen", self.host
        )
        self.password = made.out.strip()

    def command(self) -> list[str]:
        ports = [f"--{door}-port={port}" for door, port in self.ports.items()]
        return [sys.executable, "-m", "penstock", "serve", "--config", str(self._files / "penstock.yml"), *ports]

    def environment(self) -> dict[str, str]:
        return {**os.environ, **self._variables}

    def start(self) -> None:
        super().start()
        wait_until(self._is_live, what="the HTTP port is open")

    def _is_live(self) -> bool:
        client = WebClient(self.http_port, self.client_context)
        try:
            return client.ask("/health/live").status == 200
        except OSError:
            return False
        finally:
            client.close()

    def _ready(self) -> bool:
        assert self.running, self.log_tail()
        try:
            raw = socket.create_connection((self.host, self.port), timeout=5)
            with self.client_context.wrap_socket(raw, server_hostname="localhost"):
                return True
        except OSError:
            return False
