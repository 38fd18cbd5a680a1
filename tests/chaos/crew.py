"""The clients of a run as processes, each in a process group of its own so that a signal reaches all of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.chaos.client import Orders, group_of
from tests.chaos.clients.java import compile_producer
from tests.chaos.plan import TRANSACTIONAL, Role

LEAVE_SECONDS = 45.0
PAUSE_SECONDS = 0.1


class Client:
    """One client through all its lives."""

    def __init__(self, role: Role, name: str) -> None:
        self.role = role
        self.name = name
        self.life = 0
        self.stopped_until = 0.0
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def signal(self, number: signal.Signals) -> None:
        assert self.process is not None
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            pass  # it has just ended


class Crew:
    def __init__(self, roles: tuple[Role, ...], *, seed: int, bootstrap: str, directory: Path) -> None:
        self.clients = [Client(role, f"{role}-{number}") for number, role in enumerate(roles)]
        self._seed = seed
        self._bootstrap = bootstrap
        self.directory = directory
        if Role.JAVA in roles:
            compile_producer(directory / "classes")

    @property
    def transactional_ids(self) -> list[str]:
        return [client.name for client in self.clients if client.role in TRANSACTIONAL]

    @property
    def groups(self) -> tuple[str, ...]:
        return tuple(group_of(name) for name in self.transactional_ids)

    def start(self) -> None:
        for client in self.clients:
            self._start(client)

    def _start(self, client: Client) -> None:
        client.life += 1
        orders = Orders(
            role=client.role,
            name=client.name,
            life=client.life,
            seed=self._seed,
            bootstrap=self._bootstrap,
            directory=str(self.directory),
            groups=self.groups,
            pause_seconds=PAUSE_SECONDS,
        )
        with (self.directory / f"{client.name}.log").open("ab") as log:
            client.process = subprocess.Popen(
                [sys.executable, "-m", "tests.chaos.client", orders.to_json()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def has_begun(self) -> bool:
        """Whether every client has noted something."""
        files = [self.directory / f"{client.name}.{client.life}.jsonl" for client in self.clients]
        return all(file.exists() and file.stat().st_size for file in files)

    def kill(self, number: int) -> None:
        client = self.clients[number % len(self.clients)]
        client.signal(signal.SIGKILL)
        assert client.process is not None
        client.process.wait()
        client.stopped_until = 0.0
        self._start(client)

    def stop(self, number: int, seconds: float) -> None:
        """For a while; `look_after` lets it go on."""
        client = self.clients[number % len(self.clients)]
        client.signal(signal.SIGSTOP)
        client.stopped_until = time.monotonic() + seconds

    def look_after(self) -> list[str]:
        """Let stopped clients go on; the names of those that ended by themselves, which they never should."""
        for client in self.clients:
            if client.stopped_until and time.monotonic() >= client.stopped_until:
                self._let_go_on(client)
        return [client.name for client in self.clients if not client.running]

    def _let_go_on(self, client: Client) -> None:
        client.stopped_until = 0.0
        client.signal(signal.SIGCONT)

    def dismiss(self, seconds: float = LEAVE_SECONDS) -> None:
        """All finish what they are at; who does not in time is killed."""
        for client in self.clients:
            self._let_go_on(client)
            client.signal(signal.SIGTERM)
        deadline = time.monotonic() + seconds
        for client in self.clients:
            assert client.process is not None
            try:
                client.process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                pass
        self.kill_all()

    def kill_all(self) -> None:
        for client in self.clients:
            if client.process is not None:
                client.signal(signal.SIGKILL)
                client.process.wait()

    def log_of(self, name: str) -> str:
        return (self.directory / f"{name}.log").read_text(errors="replace")[-3000:]
