"""One target under atheris: `python -m tests.fuzz.one_target NAME SECONDS STATS INPUT [libFuzzer's options]`.

Ends by itself after so many seconds in which it could run: time in which the process was stopped does not count. For
whoever started it there are two files: how far it is, and the input at hand, which is the one that was wrong if the
process ends in any other way.
"""

from __future__ import annotations

import gc
import json
import os
import random
import sys
import time
from pathlib import Path
from typing import Final

import atheris

STEP_SECONDS_MAX: Final = 1.0  # between two inputs; more was a stop
STATS_SECONDS: Final = 1.0
# Memory may grow so much after the first quarter of the time. libFuzzer's own corpus and tables are part of it.
GROWTH_BYTES_MAX: Final = 96 << 20


class Watch:
    """How long, how often, how much memory."""

    def __init__(self, seconds: float, stats: Path) -> None:
        self._seconds = seconds
        self._stats = stats
        self._last = time.monotonic()
        self._told = 0.0
        self._used = 0.0
        self._runs = 0
        self._settled_bytes = 0

    def ran(self) -> None:
        now = time.monotonic()
        self._used += min(now - self._last, STEP_SECONDS_MAX)
        self._last = now
        self._runs += 1
        if self._used - self._told >= STATS_SECONDS:
            self._told = self._used
            self._tell()
        if self._used >= self._seconds:
            self._tell()
            os._exit(0)

    def _tell(self) -> None:
        gc.collect()
        resident = resident_bytes()
        if not self._settled_bytes and self._used >= self._seconds / 4:
            self._settled_bytes = resident
        self._stats.write_text(json.dumps({"runs": self._runs, "seconds": self._used, "rss": resident}))
        if self._settled_bytes and resident - self._settled_bytes > GROWTH_BYTES_MAX:
            raise AssertionError(f"memory grew from {self._settled_bytes >> 20} to {resident >> 20} MiB")


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def main(name: str, seconds: float, stats: Path, at_hand: Path, options: list[str]) -> None:
    with atheris.instrument_imports(include=["penstock"]):
        from penstock.broker.dispatcher import load_handler
        from penstock.protocol.kafka.apis import APIS
        from penstock.protocol.kafka.messages import load as load_messages
        from tests.fuzz.targets import load

        target = load(name)
        for api in APIS.values():
            load_handler(api)
            for version in range(api.oldest, api.newest + 1):
                load_messages(api.key, version)
    gc.freeze()  # schemas and handlers, which stay: what is looked through for garbage is what inputs made
    watch = Watch(seconds, stats)
    note = os.open(at_hand, os.O_RDWR | os.O_CREAT)

    def one_input(data: bytes) -> None:
        os.pwrite(note, len(data).to_bytes(4, "big") + data, 0)
        target.run(data)
        watch.ran()

    def mutate(data: bytes, max_bytes: int, seed: int) -> bytes:
        return target.mutate(data, max_bytes, random.Random(seed), atheris.Mutate)

    atheris.Setup([sys.argv[0], *options], one_input, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), Path(sys.argv[3]), Path(sys.argv[4]), sys.argv[5:])
