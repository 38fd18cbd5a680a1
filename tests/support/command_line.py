"""The `penstock` command as users run it: a real process, mostly forked from one that has loaded it."""

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from tests.support.command_server import command_server

TIMEOUT_S = 180


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def json_lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


class Question:
    """The question of a command, and the outcome of an answer."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        assert process.stderr is not None
        self.text = ""
        while not self.text.rstrip().endswith("]:"):
            piece = os.read(process.stderr.fileno(), 1000)
            assert piece, f"it ended without a question: {self.text}"
            self.text += piece.decode()

    def answer(self, word: str) -> tuple[int, str]:
        """Answer the question. Returns the exit code and the rest of the output."""
        _, told = self._process.communicate(f"{word}\n".encode(), TIMEOUT_S)
        return self._process.returncode, told.decode()


class CommandLine:
    """Runs `penstock …`; settings of the surrounding shell are left out."""

    def __init__(self, bootstrap: str | None, *, timeout_s: float = TIMEOUT_S) -> None:
        self._timeout_s = timeout_s
        self.environ = {name: value for name, value in os.environ.items() if not name.startswith("PENSTOCK_")}
        self.environ["COLUMNS"] = "200"
        if bootstrap is not None:
            self.environ["PENSTOCK_BOOTSTRAP_SERVER"] = bootstrap

    def __call__(self, *args: object, stdin: str | bytes = b"", code: int = 0, **environ: str) -> Outcome:
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            given.write(stdin.encode() if isinstance(stdin, str) else stdin)
            given.seek(0)
            environ = self.environ | environ
            server = command_server()
            run = server.run if server.has_loaded_for(environ, "PYTHON") else _from_scratch
            ended = run(list(map(str, args)), environ, (given, out, err), self._timeout_s)
            out.seek(0)
            err.seek(0)
            outcome = Outcome(ended, out.read().decode(), err.read().decode())
        assert outcome.code == code, f"exit code {outcome.code}, not {code}\n{outcome.out}\n{outcome.err}"
        assert "Traceback" not in outcome.err, outcome.err
        return outcome

    def on_terminal(self, *args: object) -> tuple[str, str]:
        """The output of a command to its terminal (stderr) while it runs, and its result (stdout)."""
        ours, theirs = pty.openpty()
        with subprocess.Popen(
            [sys.executable, "-m", "penstock", *map(str, args)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=theirs,
            env=self.environ | {"TERM": "xterm"},
        ) as process:
            os.close(theirs)
            shown = b""
            with contextlib.suppress(OSError), open(ours, "rb", buffering=0) as terminal:  # an error is its end
                while piece := terminal.read(10_000):
                    shown += piece
            found, _ = process.communicate(timeout=self._timeout_s)
        assert process.returncode == 0, shown.decode()
        return shown.decode(), found.decode()

    @contextlib.contextmanager
    def asked(self, *args: object) -> Iterator[Question]:
        """The command waiting for an answer to its question."""
        with subprocess.Popen(
            [sys.executable, "-m", "penstock", *map(str, args)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=self.environ,
        ) as process:
            try:
                yield Question(process)
            finally:
                process.kill()

    @contextlib.contextmanager
    def started(self, *args: object) -> Iterator[subprocess.Popen[bytes]]:
        """The command running beside the test, ended with it. Ctrl-C works even where the runner ignores it."""
        with subprocess.Popen(
            [sys.executable, "-m", "penstock", *map(str, args)],
            stdout=subprocess.PIPE,
            env=self.environ,
            preexec_fn=heed_interrupts,
        ) as process:
            try:
                yield process
            finally:
                process.kill()


def _from_scratch(arguments: list[str], environ: dict[str, str], files: Sequence[BinaryIO], timeout_s: float) -> int:
    stdin, stdout, stderr = files
    command = [sys.executable, "-m", "penstock", *arguments]
    return subprocess.run(
        command, stdin=stdin, stdout=stdout, stderr=stderr, env=environ, timeout=timeout_s, check=False
    ).returncode


def heed_interrupts() -> None:
    """For `preexec_fn`: a background job passes an ignored SIGINT on to its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
