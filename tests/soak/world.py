"""State shared by the clients of a soak: the broker, the ledger, the list of problems, and the loop that each runs.

A client that loses its connection connects again. That is in order if the broker was restarted meanwhile, and a problem
if it was not.
"""

from __future__ import annotations

import threading
import time
import traceback
from collections import Counter
from random import Random

from tests.soak.ledger import Ledger
from tests.support.penstock_process import PenstockProcess
from tests.support.raw_client import RawClient
from tests.support.wire import ConnectionClosed

PATIENCE_SECONDS = 300.0
"""For one answer. The machine may be busy with other things, or the whole run stopped for minutes."""
PROBLEMS_MAX = 200
SUSPENSION_SECONDS = 8.0
SUSPENSION_ECHO_SECONDS = 60.0


class World:
    def __init__(self, broker: PenstockProcess) -> None:
        self.broker = broker
        self.ledger = Ledger(self.problem)
        self.counts: Counter[str] = Counter()
        self.problems: list[str] = []
        self.life = 0  # how often the broker was started; odd while it is being restarted, even while it serves
        self.started = time.monotonic()
        self._lock = threading.Lock()
        self._latencies: list[float] = []
        self._last_beat = time.monotonic()
        self._suspended = -SUSPENSION_ECHO_SECONDS

    def problem(self, text: str) -> None:
        with self._lock:
            self.counts["problems"] += 1
            if len(self.problems) < PROBLEMS_MAX:
                self.problems.append(f"{time.monotonic() - self.started:.0f} s: {text}")
                print(f"PROBLEM {self.problems[-1]}", flush=True)

    def count(self, what: str, number: int = 1) -> None:
        with self._lock:
            self.counts[what] += number

    def note_latency(self, seconds: float) -> None:
        with self._lock:
            self._latencies.append(seconds)

    def take_latencies(self) -> list[float]:
        with self._lock:
            taken, self._latencies = self._latencies, []
        return sorted(taken)

    def beat(self) -> None:
        """Called about once a second (`Heart`): a long gap means that the run was stopped (SIGSTOP) for a while."""
        with self._lock:
            now = time.monotonic()
            if now > self._last_beat + SUSPENSION_SECONDS:
                self.counts["suspensions"] += 1
                self._suspended = now
            self._last_beat = now

    def was_suspended(self) -> bool:
        """Whether the run was stopped a short time ago."""
        self.beat()
        return time.monotonic() < self._suspended + SUSPENSION_ECHO_SECONDS

    def connect(self) -> RawClient:
        return RawClient(self.broker.host, self.broker.port, timeout_s=PATIENCE_SECONDS)


class Client(threading.Thread):
    """Takes turns until told to leave. Subclasses say what a turn is; `pause` is the time between two of them."""

    pause = 0.1

    def __init__(self, world: World, name: str) -> None:
        super().__init__(name=name, daemon=True)
        self.world = world
        self.random = Random(name)
        self.leaving = threading.Event()
        self._client: RawClient | None = None
        self._life = -1

    @property
    def raw(self) -> RawClient:
        """The connection, made when there is none."""
        if self._client is None:
            self._life = self.world.life
            self._client = self.world.connect()
        return self._client

    def turn(self) -> None:
        raise NotImplementedError

    def lost(self) -> None:
        """The connection is gone: forget what belonged to it."""

    def finish(self) -> None:
        """Before the thread ends."""

    def drop(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    def run(self) -> None:
        while not self.leaving.wait(self.pause):
            self._guarded_turn()
        try:
            self.finish()
        except Exception:
            self.world.problem(f"{self.name}, at its end: {traceback.format_exc(limit=4)}")
        self.drop()

    def _guarded_turn(self) -> None:
        try:
            self.turn()
        except (ConnectionClosed, OSError) as error:
            self.drop()
            self.lost()
            self.world.count("connections lost")
            if self._life == self.world.life and not self._life % 2:
                self.world.problem(f"{self.name}: lost its connection though nobody restarted the broker: {error!r}")
            self.leaving.wait(0.2)
        except Exception as error:
            self.drop()
            self.lost()
            if isinstance(error, AssertionError) and self.world.was_suspended():
                self.world.count("turns spoilt by a suspension")  # sessions ended, deadlines passed
                return
            self.world.problem(f"{self.name}: {traceback.format_exc(limit=4)}")
            self.leaving.wait(1.0)


class Heart(Client):
    """Beats, so that a run that was stopped as a whole can tell."""

    pause = 1.0

    def turn(self) -> None:
        self.world.beat()
