"""A process that has loaded the `penstock` command and forks for each call of it.

Half a second of most commands is Python loading modules; over the hundreds of calls of a test run that is a third of
its time. Here a command is a process of its own as before, with its own arguments, environment, working directory and
files, but it begins behind the imports. `CommandLine` calls most commands through it; those that a test interrupts,
talks to or watches on a terminal, or gives settings of Python, are started from scratch, as users do.

    python -m tests.support.command_server SOCKET

A client connects, sends one JSON line with three descriptors (stdin, stdout, stderr), and reads the process id as one
line, then the exit code when the command has ended. Closing the connection earlier kills the command. The server ends
with its own stdin.
"""

from __future__ import annotations

import array
import atexit
import contextlib
import importlib
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Sequence
from typing import Any, BinaryIO, NoReturn

from tests.support.readable import is_readable

LINE_BYTES_MAX = 4 << 20
# The modules that commands load inside of their functions; a command loads what is not here by itself.
LOADED = (
    "confluent_kafka",
    "confluent_kafka.admin",
    "penstock.config.settings",
    "penstock.node.main",
    "penstock.node.rest.application",
    "uvloop",
    "penstock.client",
    "kio.serial",
    "rich",
)


class ForkedProcess:
    """A command that runs, with the part of `subprocess.Popen` that tests use."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lines = connection.makefile("rb")
        told = self._lines.readline()
        assert told, "the command server ended"
        self.pid = int(told)
        self.returncode: int | None = None

    def poll(self) -> int | None:
        return self._ended(0)

    def wait(self, timeout: float | None = None) -> int:
        code = self._ended(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(f"penstock {self.pid}", timeout or 0)
        return code

    def _ended(self, timeout: float | None) -> int | None:
        if self.returncode is None and is_readable(self._connection, timeout):
            told = self._lines.readline()
            assert told, "the command server ended"
            self.returncode = int(told)
            self.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def close(self) -> None:
        """Kill the command if it still runs."""
        self._lines.close()
        self._connection.close()


class CommandServer:
    """The server's process, and calls of it; from any thread."""

    def __init__(self) -> None:
        self._directory = tempfile.mkdtemp(prefix="penstock-commands-")
        self._address = os.path.join(self._directory, "socket")
        environ = {name: value for name, value in os.environ.items() if not name.startswith("PENSTOCK_")}
        self._environ = environ | {"COLUMNS": "200"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, self._address],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=self._environ,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n"

    def has_loaded_for(self, environ: dict[str, str], *prefixes: str) -> bool:
        """Whether variables that modules look at when they are loaded are as they were then."""
        return all(
            environ.get(name) == self._environ.get(name)
            for name in environ.keys() | self._environ.keys()
            if name.startswith(prefixes)
        )

    def start(
        self, arguments: list[str], environ: dict[str, str], files: Sequence[BinaryIO], directory: str | None = None
    ) -> ForkedProcess:
        order = {"arguments": arguments, "environ": environ, "directory": directory or os.getcwd()}
        line = json.dumps(order).encode() + b"\n"
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(self._address)
        sent = socket.send_fds(connection, [line], [file.fileno() for file in files])
        connection.sendall(line[sent:])
        return ForkedProcess(connection)

    def run(self, arguments: list[str], environ: dict[str, str], files: Sequence[BinaryIO], timeout_s: float) -> int:
        """The exit code of `penstock ARGUMENTS`; negative for a signal, as `subprocess` has it."""
        process = self.start(arguments, environ, files)
        try:
            return process.wait(timeout_s)
        finally:
            process.close()

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(30)
        shutil.rmtree(self._directory, ignore_errors=True)


_server: CommandServer | None = None
_starting = threading.Lock()


def command_server() -> CommandServer:
    """The one server of this process, which ends with it."""
    global _server
    with _starting:
        if _server is None:
            _server = CommandServer()
            atexit.register(_server.close)
        return _server


# --- the server's side ---------------------------------------------------------------------------------------------


def main() -> None:
    _load()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the processes that wait for commands
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(sys.argv[1])
        listener.listen(64)
        print("ready", flush=True)
        while True:
            readable, _, _ = select.select([listener, sys.stdin], [], [])
            if sys.stdin in readable:
                return
            connection, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                _serve(connection)
            connection.close()


def _load() -> None:
    from penstock.cli.main import COMMANDS

    places = [place.partition(":")[0] for place in COMMANDS.values()]
    for name in (*places, *LOADED):
        importlib.import_module(name)
    _load_common_apis()


def _load_common_apis() -> None:
    """What a node loads in its first seconds."""
    from penstock.broker.dispatcher import load_handler
    from penstock.node.preload import COMMON
    from penstock.protocol.kafka.apis import APIS
    from penstock.protocol.kafka.messages import load

    for api_key, versions in COMMON:
        load_handler(APIS[api_key])
        for version in versions:
            load(api_key, version)


def _serve(connection: socket.socket) -> NoReturn:
    """In a process of its own: start the command, wait for it, tell its exit code."""
    order, files = _receive(connection)
    command = os.fork()
    if command == 0:
        connection.close()
        _become(order, files)
    for file in files:
        os.close(file)
    connection.sendall(f"{command}\n".encode())
    ended = os.pidfd_open(command)
    readable, _, _ = select.select([ended, connection.fileno()], [], [])
    if ended not in readable:
        os.kill(command, signal.SIGKILL)
    _, status = os.waitpid(command, 0)
    with contextlib.suppress(OSError):
        connection.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def _receive(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    data, files, _, _ = socket.recv_fds(connection, 1 << 16, 3)
    while not data.endswith(b"\n"):
        assert len(data) < LINE_BYTES_MAX
        data += connection.recv(1 << 16)
    return json.loads(data), list(array.array("i", files))


def _become(order: dict[str, Any], files: list[int]) -> NoReturn:
    for number, file in enumerate(files):
        os.dup2(file, number)
    os.closerange(3, max(files) + 1)
    os.environ.clear()
    os.environ.update(order["environ"])
    os.chdir(order["directory"])
    sys.argv = ["penstock", *order["arguments"]]
    sys.stdin = open(0)  # noqa: SIM115
    sys.stdout, sys.stderr = open(1, "w"), open(2, "w", 1, errors="backslashreplace")  # noqa: SIM115
    code: object = 0
    try:
        from penstock.cli.main import main as penstock

        penstock()
    except SystemExit as end:
        code = end.code
    except BaseException:
        traceback.print_exc()
        code = 1
    os._exit(_ended(code))


def _ended(code: object) -> int:
    """What the interpreter does at its end, with the exit code that it would have."""
    if isinstance(code, str):
        print(code, file=sys.stderr)
        code = 1
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(BrokenPipeError, ValueError):
            stream.flush()
    return code if isinstance(code, int) else int(code is not None)


if __name__ == "__main__":
    main()
