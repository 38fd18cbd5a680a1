"""A virtual environment with a wheel and its dependencies, and nothing else."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

_PART_OF_EVERY_ENVIRONMENT = {"pip", "setuptools", "wheel"}
INSTALL_TIMEOUT_S = 600
COMMAND_TIMEOUT_S = 120


class SmokeError(Exception):
    """A failed check of the wheel; the message says which."""


def clean_environ() -> dict[str, str]:
    """The environment without variables that would expose the clone or the caller's settings."""
    unwanted = ("PYTHON", "PENSTOCK_", "QB_", "VIRTUAL_ENV")
    return {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}


class Environment:
    """A virtual environment, activated; its commands run in `directory`, where there is nothing to import."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._bin = directory / "environment" / "bin"

    def install(self, wheel: Path, pins: Path) -> None:
        self._run([sys.executable, "-m", "venv", str(self._bin.parent)], INSTALL_TIMEOUT_S)
        self.add(wheel, pins)

    def add(self, wheel: Path, pins: Path) -> None:
        """Install one more wheel."""
        pip = [str(self._bin / "python"), "-m", "pip", "--disable-pip-version-check"]
        self._run([*pip, "install", "--quiet", "--constraint", str(pins), str(wheel)], INSTALL_TIMEOUT_S)
        self._run([*pip, "check"], COMMAND_TIMEOUT_S)

    def installed(self) -> dict[str, str]:
        """Installed packages and their versions, without the environment's own."""
        listed = json.loads(self.python("-m", "pip", "--disable-pip-version-check", "list", "--format", "json"))
        found = {_plain(each["name"]): str(each["version"]) for each in listed}
        return {name: version for name, version in found.items() if name not in _PART_OF_EVERY_ENVIRONMENT}

    def command(self, *arguments: str) -> list[str]:
        return [str(self._bin / "penstock"), *arguments]

    def penstock(self, *arguments: str, stdin: str = "", code: int = 0) -> str:
        """Run the command and return its output. SmokeError if it ends with another code or with a traceback."""
        return self._run(self.command(*arguments), COMMAND_TIMEOUT_S, stdin=stdin, code=code)

    def python(self, *arguments: str, timeout_s: float = COMMAND_TIMEOUT_S) -> str:
        return self._run([str(self._bin / "python"), *arguments], timeout_s)

    def _activated(self) -> dict[str, str]:
        environ = clean_environ()
        return environ | {"PATH": f"{self._bin}{os.pathsep}{environ.get('PATH', os.defpath)}"}

    def _run(self, command: Sequence[str], timeout_s: float, *, stdin: str = "", code: int = 0) -> str:
        shown = " ".join(command)
        try:
            done = subprocess.run(
                command, input=stdin, capture_output=True, text=True, timeout=timeout_s, check=False,
                cwd=self.directory, env=self._activated(),
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise SmokeError(f"{shown}: not done after {timeout_s:.0f} s") from error
        if done.returncode != code or "Traceback" in done.stderr:
            raise SmokeError(f"{shown}: ended with {done.returncode}, not {code}\n{done.stdout}{done.stderr}")
        return done.stdout if code == 0 else done.stdout + done.stderr


def pinned(pins: Path) -> dict[str, str]:
    """The versions of a requirements file."""
    found = re.findall(r"^([\w.-]+)==(\S+)", pins.read_text(encoding="utf-8"), re.MULTILINE)
    return {_plain(name): version for name, version in found}


def _plain(name: str) -> str:
    """One spelling of a package's name."""
    return re.sub(r"[-_.]+", "-", name).lower()
