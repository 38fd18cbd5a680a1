"""strace on a running process: to see its system calls, or to make some of them fail."""

from __future__ import annotations

import subprocess
from pathlib import Path

DETACH_S = 5.0


class CannotAttach(Exception):
    """strace is not allowed to trace here."""


class Strace:
    """strace on all threads of a running process, for the length of a `with` block."""

    def __init__(self, pid: int, output: Path, *options: str) -> None:
        self._output = output
        command = ["strace", "-f", "-y", "-o", str(output), *options, "-p", str(pid)]
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)

    def __enter__(self) -> Strace:
        assert self._process.stderr is not None
        line = self._process.stderr.readline()
        if "attached" not in line:
            self._process.kill()
            self._process.wait()
            self._process.stderr.close()
            raise CannotAttach(line)
        return self

    def __exit__(self, *_: object) -> None:
        """Detach and wait until that is done.

        On SIGTERM strace stops one thread after the other to detach from it, and waits for each of them without a
        limit. When strace is killed, the kernel detaches from all of them at once; the only difference is that a call
        whose error is being injected at this moment fails with ENOSYS.
        """
        self._process.terminate()
        try:
            self._process.wait(DETACH_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stderr is not None
        self._process.stderr.close()

    def lines(self) -> list[str]:
        return self._output.read_text(errors="replace").splitlines()
