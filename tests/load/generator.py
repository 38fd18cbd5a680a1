"""A load generator in a process of its own: `begin` and `end` of a disturbance, and its report.

    python -m tests.load.generator NAME HOST PORT JSON     reads begin, end and quit a line, answers each with JSON

Generators are nicer than the broker: what is measured is how the broker treats others, not how a small machine shares
its processors between a generator and a broker.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from typing import Any, Self

import uvloop

NICENESS = 10


class Generator:
    """The process, from outside."""

    def __init__(self, name: str, host: str, port: int, **options: Any) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.load.generator", name, host, str(port), json.dumps(options)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.counts: dict[str, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()

    def begin(self) -> None:
        """Returns when the disturbance is in full force."""
        self._tell("begin")

    def end(self) -> None:
        self._tell("end")

    def _tell(self, word: str) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(word + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, f"the load generator failed at {word!r}"
        self.counts = json.loads(line)


async def serve(name: str, host: str, port: int, options: dict[str, Any]) -> None:
    from tests.load.attacks import ATTACKS
    from tests.load.disturbances import DISTURBANCES

    disturbance = (DISTURBANCES | ATTACKS)[name](host, port, **options)
    loop = asyncio.get_running_loop()
    while word := (await loop.run_in_executor(None, sys.stdin.readline)).strip():
        if word == "begin":
            await disturbance.begin()
        else:
            await disturbance.end()
        print(json.dumps(disturbance.counts), flush=True)


def main() -> None:
    os.nice(NICENESS)
    name, host, port, options = sys.argv[1:]
    uvloop.run(serve(name, host, int(port), json.loads(options)))


if __name__ == "__main__":
    main()
