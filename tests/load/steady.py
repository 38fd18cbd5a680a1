"""The client that is disturbed: a few hundred messages a second, each waited for, in a process of its own.

A message is produced with acks=all while a fetch waits for it; the times until its acknowledgement and until it arrives
are measured. So is the time of a round trip to a process that only sends back what it gets: what that takes longer, the
machine is to blame for, not the broker.

    python -m tests.load.steady HOST PORT TOPIC BYTES PACE     reads seconds a line, measures so long, writes JSON
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from tests.load.frames import fetch_frame, fetched
from tests.scale.scaled_broker import produce_error, produce_frame
from tests.support.batches import values
from tests.support.raw_client import RawClient

PACE_SECONDS = 0.005
WHAT = ("acknowledged", "arrived", "echoed")


@dataclass(frozen=True, slots=True)
class Window:
    """Some seconds of the steady client: percentiles in milliseconds by what was waited for."""

    count: int
    p50_ms: dict[str, float]
    p99_ms: dict[str, float]


class Steady:
    """The process, from outside."""

    def __init__(
        self, host: str, port: int, topic: str, *, size: int = 100, pace_seconds: float = PACE_SECONDS
    ) -> None:
        """`size` is that of a message, in bytes; one is sent every `pace_seconds`."""
        arguments = [host, str(port), topic, str(size), str(pace_seconds)]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.load.steady", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()

    def measure(self, seconds: float) -> Window:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{seconds}\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the steady client failed: an error, or an answer it did not get"
        return Window(**json.loads(line))


def echo() -> socket.socket:
    """A connection to a child that returns every byte."""
    ours, theirs = socket.socketpair()
    if os.fork() == 0:
        ours.close()
        while data := theirs.recv(4096):
            theirs.sendall(data)
        os._exit(0)
    theirs.close()
    return ours


def measured(action: Callable[[], None], into: list[float]) -> None:
    started = time.perf_counter()
    action()
    into.append((time.perf_counter() - started) * 1000)


class Measurement:
    """The body of the process."""

    def __init__(self, host: str, port: int, topic: str, size: int, pace_seconds: float) -> None:
        self._echo = echo()
        self._pace_seconds = pace_seconds
        self._fetch_bytes = max(2 * size, 1 << 20)
        self._topic = topic
        self._producer = RawClient(host, port, timeout_s=60)
        self._consumer = RawClient(host, port, timeout_s=60)
        self._offset = self._producer.log_end(topic)
        self._produce = produce_frame(topic, 0, values("x" * size))

    def run(self, seconds: float) -> Window:
        times: dict[str, list[float]] = {what: [] for what in WHAT}
        due = time.perf_counter()
        end = due + seconds
        while due < end:
            self._message(times)
            measured(self._round_trip, times["echoed"])
            due = max(due + self._pace_seconds, time.perf_counter() - 0.1)
            time.sleep(max(0.0, due - time.perf_counter()))
        for each in times.values():
            each.sort()
        count = len(times["echoed"])
        return Window(
            count,
            {what: round(each[count // 2], 3) for what, each in times.items()},
            {what: round(each[int(count * 0.99)], 3) for what, each in times.items()},
        )

    def _message(self, times: dict[str, list[float]]) -> None:
        self._consumer.send_bytes(
            fetch_frame(self._topic, [(0, self._offset)], max_wait_ms=30_000, max_bytes=self._fetch_bytes)
        )
        started = time.perf_counter()
        self._producer.send_bytes(self._produce)
        error = produce_error(self._producer.receive_frame())
        times["acknowledged"].append((time.perf_counter() - started) * 1000)
        (partition,) = fetched(self._consumer.receive_frame())
        times["arrived"].append((time.perf_counter() - started) * 1000)
        if error or partition.error or partition.next_offset != self._offset + 1:
            raise SystemExit(f"steady client: error {error}, {partition} at {self._offset}")
        self._offset = partition.next_offset

    def _round_trip(self) -> None:
        self._echo.sendall(b"x" * 100)
        self._echo.recv(4096)


def main() -> None:
    host, port, topic, size, pace_seconds = sys.argv[1:]
    measurement = Measurement(host, int(port), topic, int(size), float(pace_seconds))
    for line in sys.stdin:
        window = measurement.run(float(line))
        print(json.dumps({"count": window.count, "p50_ms": window.p50_ms, "p99_ms": window.p99_ms}), flush=True)


if __name__ == "__main__":
    main()
