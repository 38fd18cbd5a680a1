"""Penstock as its users run it: `python -m penstock serve` with flags and perhaps a config file."""

import sys
from pathlib import Path

from tests.support.broker_process import BrokerProcess, free_port


class PenstockProcess(BrokerProcess):
    kind = "penstock"

    def __init__(self, directory: Path, config: str | None = None) -> None:
        super().__init__(directory)
        self.http_port = free_port()
        self.push_port = free_port()
        self.data_directory = directory / "data"
        self._config = config
        self._config_file = directory / "penstock.yaml"

    def prepare(self) -> None:
        if self._config is not None:
            self._config_file.write_text(self._config)

    def command(self) -> list[str]:
        flags = ["--data-dir", str(self.data_directory), "--host", self.host, "--kafka-port", str(self.port)]
        flags += ["--http-port", str(self.http_port), "--push-port", str(self.push_port)]
        if self._config is not None:
            flags += ["--config", str(self._config_file)]
        return [sys.executable, "-m", "penstock", "serve", *flags]
