"""A client as a process of its own that prints what happens to it, one JSON object a line: watched, stopped, killed."""

import json
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
STOP_DEADLINE_S = 20.0


class EventProcess:
    """One running process. Subclasses say what to make of its events."""

    def __init__(self, kind: str, command: Sequence[str], *, stdin: bytes = b"") -> None:
        self.kind = kind
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  # goes with the process
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, cwd=ROOT
        )
        assert self._process.stdin is not None
        self._process.stdin.write(stdin)
        self._process.stdin.close()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            try:
                event = json.loads(line)
            except ValueError:
                continue
            self._take(event.get("event") or event.get("name"), event)

    def _take(self, name: str, event: dict[str, Any]) -> None:
        """One event, in the thread that reads."""
        raise NotImplementedError

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def errors(self) -> str:
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace")

    def stop(self) -> None:
        """Ask it to end in order."""
        if self.running:
            self._process.terminate()
            try:
                self._process.wait(STOP_DEADLINE_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                raise AssertionError(f"{self.kind} did not end\n{self.errors()}") from None
        self._reader.join(STOP_DEADLINE_S)

    def kill9(self) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join(STOP_DEADLINE_S)
