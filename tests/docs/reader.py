"""A reader of the pages: runs their programs and commands in one directory, with one broker.

The broker is on free ports, so the default ones are replaced in what the page says, and given in variables where the
page leaves them out. A command whose comment says `until Ctrl-C` runs beside those that follow it, which are tried
again until it is up; it is ended with the page. `penstock serve` is the broker that runs already.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.docs.pages import ROOT, Page
from tests.support.broker_process import free_port
from tests.support.command_line import heed_interrupts
from tests.support.http_json import ask
from tests.support.penstock_process import PenstockProcess

PORTS = re.compile(r"(?<![\d.])(9092|9999|8[01]\d\d|919\d)(?!\d)")
REQUEST = re.compile(r"([A-Z]+) (\S+)\n(.*?)\n(\d{3})\n(.*)", re.DOTALL)
ANYTHING = "…"
COMMAND_S, UP_S = 600, 30
SESSION = """
from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
"""
REDIRECT = Path(__file__).parent / "redirect"


class Reader:
    def __init__(self, broker: PenstockProcess, directory: Path) -> None:
        self._broker = broker
        self._directory = directory
        self._ports = {"9092": broker.port, "8080": broker.http_port, "9999": broker.push_port}
        self._beside: list[subprocess.Popen[bytes]] = []
        self._beside_output = directory / "beside.txt"
        self._programs = 0
        self._printed = ""
        shutil.copytree(
            ROOT / "examples", directory / "examples", ignore=shutil.ignore_patterns("state", "__pycache__")
        )
        (directory / ".venv").symlink_to(sys.prefix)
        self._environ = {name: value for name, value in os.environ.items() if not name.startswith("PENSTOCK_")}
        self._environ |= {
            "COLUMNS": "200",
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join([str(REDIRECT), str(directory)]),
            "PENSTOCK_BOOTSTRAP_SERVER": broker.bootstrap,
            "PENSTOCK_URL": f"http://127.0.0.1:{broker.http_port}",
            "PENSTOCK_TEST_PUSH_PORT": str(broker.push_port),
        }

    def follow(self, page: Page, expected: Sequence[str] = ()) -> None:
        """Everything on the page; what it prints has to show the expected patterns before its processes are ended."""
        environ = dict(self._environ)
        self._printed = ""
        try:
            session = [SESSION]
            for language, text in page.blocks:
                if page.is_for_spark and language in ("python", "sql"):
                    session.append(text if language == "python" else in_spark(text))
                elif language == "python":
                    self._run_program(text, environ)
                elif language == "sh":
                    for line in filter(str.strip, text.splitlines()):
                        self._command(line, environ)
                elif language == "http":
                    self._ask(text)
            if session != [SESSION]:
                self._run_program("\n".join(session), environ)
            for pattern in expected:
                self._wait_for(pattern)
        finally:
            self._end_beside()

    def _wait_for(self, pattern: str) -> None:
        deadline = time.monotonic() + (UP_S if self._beside else 0)
        while re.search(pattern, printed := self._printed + self._printed_beside(), re.MULTILINE) is None:
            assert time.monotonic() < deadline, f"no {pattern} in\n{printed}"
            time.sleep(0.1)

    def _printed_beside(self) -> str:
        return self._beside_output.read_text() if self._beside_output.exists() else ""

    # --- programs ----------------------------------------------------------------------------------------------------

    def _run_program(self, text: str, environ: dict[str, str]) -> None:
        name = re.match(r"# (\w+\.py)\n", text)
        if name is not None:
            (self._directory / name[1]).write_text(text)
            return
        self._programs += 1
        program = self._directory / f"program_{self._programs}.py"
        program.write_text(self._with_ports(text))
        self._run([sys.executable, "-u", str(program)], text, environ)

    def _with_ports(self, text: str) -> str:
        return PORTS.sub(lambda found: str(self._port(found[1])), text)

    def _port(self, shown: str) -> int:
        if shown not in self._ports:
            self._ports[shown] = free_port()
        return self._ports[shown]

    # --- commands ----------------------------------------------------------------------------------------------------

    def _command(self, line: str, environ: dict[str, str]) -> None:
        command, _, comment = line.partition("  #")
        if shlex.split(command)[:2] == ["penstock", "serve"]:
            return
        if command.startswith("export "):
            name, _, value = self._with_ports(command.removeprefix("export ")).strip().partition("=")
            environ[name] = value
            return
        command = self._with_ports(self._with_addresses(command))
        if "until Ctrl-C" in comment:
            self._start_beside(command, environ)
        else:
            self._run(["bash", "-c", f"set -o pipefail; {command}"], line, environ)

    @staticmethod
    def _with_addresses(command: str) -> str:
        """With options for what is on a default port and has no variable."""
        if command.startswith("python examples/"):
            return f"{command} --bootstrap 127.0.0.1:9092"
        if command.startswith("penstock consumers run"):
            return f"{command} --broker 127.0.0.1:9092"
        if command.startswith("penstock edge"):
            return f"{command} --broker-host 127.0.0.1 --broker-port 9999 --port 8082"
        return command

    def _run(self, command: list[str], shown: str, environ: dict[str, str]) -> None:
        """Once; after something was started beside, until it works."""
        deadline = time.monotonic() + (UP_S if self._beside else 0)
        while True:
            code, printed = self._ended(command, environ)
            if code == 0 and "Traceback" not in printed and '"status": 404' not in printed:
                self._printed += printed
                return
            if time.monotonic() >= deadline:
                raise AssertionError(f"exit code {code}:\n{shown}\n{printed}")
            time.sleep(0.2)

    def _ended(self, command: list[str], environ: dict[str, str]) -> tuple[int, str]:
        """Exit code and output of a command. One that takes too long is ended with all its processes."""
        with subprocess.Popen(
            command,
            cwd=self._directory,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as process:
            try:
                printed, _ = process.communicate(timeout=COMMAND_S)
            except BaseException:
                os.killpg(process.pid, signal.SIGKILL)
                raise
        return process.returncode, printed

    def _start_beside(self, command: str, environ: dict[str, str]) -> None:
        with self._beside_output.open("ab") as output:
            process = subprocess.Popen(
                ["bash", "-c", f"exec env {command}"],
                cwd=self._directory,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                preexec_fn=heed_interrupts,
            )
        self._beside.append(process)

    def _end_beside(self) -> None:
        for process in reversed(self._beside):
            process.send_signal(signal.SIGINT)
        for process in self._beside:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()
            process.wait()
        self._beside.clear()
        self._beside_output.unlink(missing_ok=True)

    # --- requests ----------------------------------------------------------------------------------------------------

    def _ask(self, text: str) -> None:
        found = REQUEST.fullmatch(text)
        assert found is not None, text
        method, path, body, status, shown = found.groups()
        question = json.loads(body) if body.strip() else None
        answer = ask(self._broker.http_port, path, method, question, timeout_s=60)
        assert answer.status == int(status), (method, path, answer)
        if shown.strip():
            assert agrees(json.loads(shown), answer.body), (method, path, answer.body)


def in_spark(statements: str) -> str:
    """A program that executes SQL and shows what comes of it."""
    return "".join(
        f"spark.sql({statement!r}).show()\n" for statement in re.split(r";.*\n", statements) if statement.strip()
    )


def agrees(shown: Any, answered: Any) -> bool:
    """… stands for any value, for further fields and for further items."""
    if shown == ANYTHING:
        return True
    if isinstance(shown, dict) and isinstance(answered, dict):
        complete = ANYTHING in shown or len(shown) == len(answered)
        return complete and all(
            name in answered and agrees(value, answered[name]) for name, value in shown.items() if name != ANYTHING
        )
    if isinstance(shown, list) and isinstance(answered, list):
        if ANYTHING not in shown:
            return len(shown) == len(answered) and all(map(agrees, shown, answered))
        rest = iter(answered)
        return all(any(agrees(item, each) for each in rest) for item in shown if item != ANYTHING)
    return bool(shown == answered and type(shown) is type(answered))
