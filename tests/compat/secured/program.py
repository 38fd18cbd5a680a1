"""Clients of other languages, each a small program: what to do on stdin, what happened on stdout, a word and a text."""

from __future__ import annotations

import json
import subprocess
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Mapping, Sequence

from tests.compat.secured.client import DEADLINE_S, Door, Exchanged, SecuredClient, Streamed

Task = Mapping[str, str]


class Program(SecuredClient):
    """Says `sent VALUE`, `found VALUE`, `refused ERROR` and `failed ERROR`; the last one ends it with code 1."""

    @abstractmethod
    def command(self) -> list[str]: ...

    def client_of(self, door: Door) -> Mapping[str, str]:
        """The client's properties, as the program takes them."""
        return {"bootstrap.servers": door.address, **door.properties}

    def encoded(self, task: Task, client: Mapping[str, str]) -> bytes:
        return json.dumps({**task, "client": dict(client)}).encode()

    def _run(self, door: Door, task: Task, *, code: int = 0, more_s: float = 0) -> dict[str, list[str]]:
        done = subprocess.run(
            self.command(),
            input=self.encoded(task, self.client_of(door)),
            capture_output=True,
            timeout=DEADLINE_S + more_s,
            check=False,
        )
        told, errors = done.stdout.decode(), done.stderr.decode()
        assert done.returncode == code, f"{self.name}: {done.returncode}\n{told[-2000:]}\n{errors[-4000:]}"
        found: dict[str, list[str]] = defaultdict(list)
        for word, _, text in (line.partition(" ") for line in told.splitlines()):
            found[word].append(text)
        return found

    def exchange(self, door: Door, topic: str, closed: str, group: str, values: Sequence[str]) -> Exchanged:
        task = {"act": "exchange", "topic": topic, "closed": closed, "group": group, "values": ",".join(values)}
        told = self._run(door, task)
        assert told["sent"] == list(values)
        (refusal,) = told["refused"]
        return Exchanged(told["found"], refusal)

    def distrust(self, door: Door) -> str:
        return "\n".join(self._run(door, {"act": "connect"}, code=1)["failed"])

    def stream(self, door: Door, topic: str, group: str, seconds: float) -> Streamed:
        task = {"act": "stream", "topic": topic, "group": group, "seconds": str(int(seconds))}
        told = self._run(door, task, more_s=seconds)
        return Streamed(told["sent"], told["found"])
