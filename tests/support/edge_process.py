"""The consumer application as its users run it: `python -m penstock edge`, configured by variables."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from tests.support.broker_process import BrokerProcess, free_port
from tests.support.http_json import Answer, ask
from tests.support.waiting import wait_until


class EdgeProcess(BrokerProcess):
    kind = "edge"

    def __init__(self, directory: Path, broker_port: int, **variables: str) -> None:
        super().__init__(directory)
        self.http_port = free_port()
        self.data_directory = directory / "consumer-data"
        self.variables = {
            "CONSUMER_PORT": str(self.http_port),
            "BROKER_HOST": self.host,
            "BROKER_PORT": str(broker_port),
            "STORAGE_DATA_DIR": str(self.data_directory),
            **variables,
        }
        self.pause: str | None = None

    def command(self) -> list[str]:
        return [sys.executable, "-m", "penstock", "edge"]

    def environment(self) -> dict[str, str]:
        pause = {} if self.pause is None else {"PENSTOCK_PAUSE_AT": self.pause}
        return dict(os.environ) | self.variables | pause

    def _ready(self) -> bool:
        assert self.running or self.pause, f"ended with {self._process and self._process.returncode}"
        if self.pause is not None and self.is_stopped:
            return True
        try:
            return ask(self.http_port, "/health/live", timeout_s=2).status == 200
        except OSError:
            return False

    @property
    def is_stopped(self) -> bool:
        """Whether the process has stopped itself at the configured pause."""
        return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"

    def wait_for_pause(self) -> None:
        wait_until(lambda: self.is_stopped, what=f"the application to stop itself at {self.pause}", within_s=30)

    def get(self, path: str) -> Answer:
        return ask(self.http_port, path)

    def messages(self, query: str = "") -> list[dict[str, Any]]:
        """The messages of all pages."""
        found: list[dict[str, Any]] = []
        answer = self.get(f"/messages?{query}")
        while True:
            assert answer.status == 200, answer
            found += answer.body["messages"]
            if not answer.body["more"]:
                return found
            answer = self.get(f"/messages?cursor={answer.body['cursor']}")

    def stats(self) -> dict[str, Any]:
        answer = self.get("/stats")
        assert answer.status == 200
        body: dict[str, Any] = answer.body
        return body

    def wait_for_messages(self, count: int, *, within_s: float = 30) -> None:
        wait_until(lambda: self.stats()["messages"] >= count, what=f"{count} messages", within_s=within_s)

    def wait_for(self, condition: str, value: object) -> None:
        """Wait until a field of /health has a value."""
        wait_until(lambda: self.get("/health").body[condition] == value, what=f"{condition} = {value}", within_s=30)
