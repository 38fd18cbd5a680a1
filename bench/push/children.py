"""Publishers and consumers in processes of their own: started as modules, told by arguments, heard by lines of JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from penstock.cli.processes.child_process import end_in_order

END_SECONDS = 10


class Child:
    """One process. Each line that it prints is an object."""

    def __init__(self, module: str, *arguments: object) -> None:
        command = [sys.executable, "-m", module, *map(str, arguments)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE)

    def hear(self) -> dict[str, Any]:
        """The next line; waits for it."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{' '.join(map(str, self._process.args))} ended without a result")  # type: ignore[arg-type]
        said: dict[str, Any] = json.loads(line)
        return said

    def tell(self) -> None:
        """A line, for which it waits."""
        assert self._process.stdin is not None
        self._process.stdin.write(b"\n")
        self._process.stdin.flush()

    def end(self) -> None:
        end_in_order(self._process, END_SECONDS)


@contextmanager
def child(module: str, *arguments: object) -> Iterator[Child]:
    started = Child(module, *arguments)
    try:
        yield started
    finally:
        started.end()


def say(**content: object) -> None:
    print(json.dumps(content), flush=True)
