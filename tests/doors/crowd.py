"""Clients that hold connections: crowds that say nothing, and single ones that are slow on purpose."""

from __future__ import annotations

import itertools
import resource
import select
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.penstock_process import PenstockProcess
from tests.support.raw_client import RawClient
from tests.support.waiting import wait_until

CLOSED_WITHIN_S = 30.0
"""For limits of about a second: far above them, far below those that the node has without settings."""


class ScarceProcess(PenstockProcess):
    """A node that the system allows few open files."""

    def __init__(self, directory: Path, files_max: int, config: str | None = None) -> None:
        super().__init__(directory, config)
        self._files_max = files_max

    def command(self) -> list[str]:
        return ["bash", "-c", f'ulimit -n {self._files_max} && exec "$@"', "-", *super().command()]

    @property
    def open_files(self) -> int:
        return sum(1 for _ in Path(f"/proc/{self.pid}/fd").iterdir())


@contextmanager
def crowd(port: int, size: int) -> Iterator[list[socket.socket]]:
    """So many connections that say nothing; all of them have been made, though some may have been closed again."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, size + 1_000)), hard))
    sockets: list[socket.socket] = []
    try:
        for _ in range(size):
            sockets.append(socket.create_connection(("127.0.0.1", port), timeout=30))
        yield sockets
    finally:
        for each in sockets:
            each.close()


def is_closed(sock: socket.socket) -> bool:
    """Whether the other side has closed the connection; bytes that it sent before are read."""
    sock.setblocking(False)
    try:
        while sock.recv(65_536):
            pass
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def is_reset(sock: socket.socket) -> bool:
    """The same for a client that reads nothing."""
    poll = select.poll()
    poll.register(sock, select.POLLRDHUP)
    return bool(poll.poll(0))


def drips_until_closed(sock: socket.socket, endless: Iterator[bytes], pause_s: float = 0.02) -> None:
    """Send a little at a time until the other side closes the connection."""

    def is_over() -> bool:
        try:
            sock.setblocking(True)
            sock.sendall(next(endless))
        except (BrokenPipeError, ConnectionResetError):
            return True
        time.sleep(pause_s)
        return is_closed(sock)

    wait_until(is_over, what="a client that drips bytes is closed", within_s=CLOSED_WITHIN_S)


def byte_by_byte(text: bytes) -> Iterator[bytes]:
    return (bytes([byte]) for byte in itertools.cycle(text))


class SteadyClient:
    """A client whose round trips are timed while others misbehave."""

    def __init__(self, host: str, port: int) -> None:
        self._client = RawClient(host, port)
        self._seconds: list[float] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.failure: Exception | None = None

    def __enter__(self) -> SteadyClient:
        self._thread.start()
        self.p99()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._client.close()
        assert self.failure is None, self.failure

    def p99(self, trips: int = 200) -> float:
        """The time of the slowest round trip but one in a hundred, of the next ones."""
        self._seconds.clear()
        wait_until(lambda: self.failure or len(self._seconds) >= trips, what=f"{trips} round trips")
        assert self.failure is None, self.failure
        return _p99(self._seconds[:trips])

    def p99_so_far(self) -> float:
        return _p99(self._seconds)

    def _run(self) -> None:
        try:
            while not self._ended.is_set():
                began = time.perf_counter()
                self._client.call("api_versions", 0)
                self._seconds.append(time.perf_counter() - began)
                time.sleep(0.001)
        except Exception as error:
            self.failure = error


def _p99(seconds: list[float]) -> float:
    return sorted(seconds)[len(seconds) * 99 // 100 - 1]
