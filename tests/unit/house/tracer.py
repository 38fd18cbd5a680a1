"""A node on sockets of its own whose functions are noted while a request runs through it.

The node's loop runs in a thread, the client in the test's. Every thread that the node starts has a profile function,
which notes each function of `src/penstock` that is called between `begin` and `end`. What the node does by itself
(timers, metrics, maintenance) comes into a trace by chance: `steady` repeats a request and keeps the functions that ran
every time.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

from penstock.config.settings import Settings
from penstock.node.node import Node

SOURCES = Path(__file__).resolve().parents[3] / "src" / "penstock"
_PREFIX = f"{SOURCES}/"


class Step(NamedTuple):
    """A function that ran: its file below `src/penstock`, and its qualified name."""

    file: str
    function: str


class Trace(NamedTuple):
    """The files and functions that one request ran through, in the order of the first call."""

    ran: list[Step]
    """Every function."""
    handed_on: list[Step]
    """Functions that were on the call stack when the request reached one of its stations."""


class Tracer:
    """Notes functions of all threads together."""

    def __init__(self) -> None:
        self._recording = False
        self._ran: dict[CodeType, None] = {}
        self._handed_on: dict[CodeType, None] = {}
        self._stations: frozenset[str] = frozenset()

    def profile(self, frame: FrameType, event: str, argument: Any) -> None:
        if not self._recording or event != "call":
            return
        code = frame.f_code
        self._ran.setdefault(code)
        if code.co_qualname in self._stations:
            stack: list[CodeType] = []
            caller: FrameType | None = frame
            while caller is not None:
                stack.append(caller.f_code)
                caller = caller.f_back
            for each in reversed(stack):
                self._handed_on.setdefault(each)

    def begin(self, stations: Iterable[str] = ()) -> None:
        self._ran, self._handed_on = {}, {}
        self._stations = frozenset(stations)
        self._recording = True

    def end(self) -> Trace:
        self._recording = False
        return Trace(_steps(self._ran), _steps(self._handed_on))

    def steady(self, request: Callable[[], object], stations: Iterable[str], times: int = 5) -> Trace:
        """The functions that each of several equal requests runs through, and those that hand most of them on.

        A client may have its answer, which ends a trace, before the node has returned from what sends it.
        """
        traces = []
        for _ in range(times):
            self.begin(stations)
            request()
            traces.append(self.end())
        return Trace(_always([trace.ran for trace in traces]), _mostly([trace.handed_on for trace in traces]))


def _steps(codes: Iterable[CodeType]) -> list[Step]:
    return [
        Step(code.co_filename.removeprefix(_PREFIX), code.co_qualname)
        for code in codes
        if code.co_filename.startswith(_PREFIX) and code.co_name != "<module>"
    ]


def _always(runs: list[list[Step]]) -> list[Step]:
    common = set(runs[0]).intersection(*runs[1:])
    return [step for step in runs[0] if step in common]


def _mostly(runs: list[list[Step]]) -> list[Step]:
    counts = Counter(step for run in runs for step in run)
    return [step for step in counts if counts[step] > len(runs) / 2]


def files(steps: Iterable[Step]) -> list[str]:
    """Files in the order of their first use."""
    return list(dict.fromkeys(step.file for step in steps))


@contextmanager
def traced_node(data_dir: Path, tracer: Tracer) -> Iterator[Node]:
    """A node on disk, with the defaults of a user but for its ports and the delay of a first rebalance."""
    node = Node(
        Settings.model_validate(
            {
                "node": {"data_dir": data_dir},
                "kafka": {"host": "127.0.0.1", "port": 0},
                "push": {"port": 0},
                "http": {"enabled": False},
                "groups": {"initial_rebalance_delay_ms": 0},
            }
        )
    )
    started, stop = threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()

    async def run() -> None:
        await node.start()
        started.set()
        await stop.wait()
        await node.stop()

    def main() -> None:
        sys.setprofile(tracer.profile)
        try:
            loop.run_until_complete(run())
        finally:
            sys.setprofile(None)
            started.set()
            loop.close()

    threading.setprofile(tracer.profile)
    thread = threading.Thread(target=main)
    try:
        thread.start()
        assert started.wait(60)
        assert thread.is_alive(), "the node did not start"
        yield node
    finally:
        threading.setprofile(None)
        if thread.is_alive():
            loop.call_soon_threadsafe(stop.set)
        thread.join(60)
