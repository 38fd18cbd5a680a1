"""franz-go, in `franz/main.go`."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from tests.compat.secured.program import Program

SOURCE = Path(__file__).parent / "franz"
OLDEST = (1, 21)
"""From then on Go fetches a newer version of itself, if a module asks for one."""


def why_not() -> str | None:
    """Why the program cannot be built here."""
    if shutil.which("go") is None:
        return "there is no Go here: run `make compat-setup`"
    told = subprocess.run(["go", "env", "GOVERSION"], capture_output=True, check=True, text=True).stdout
    version = tuple(int(part) for part in re.findall(r"\d+", told)[:2])
    return None if version >= OLDEST else f"{told.strip()} cannot build franz-go: install Go 1.21 or newer"


class FranzGo(Program):
    name = "franz-go"
    denied = "TOPIC_AUTHORIZATION_FAILED"
    distrusts = ("certificate signed by unknown authority", "cannot validate certificate for 127.0.0.1")

    def __init__(self, directory: Path) -> None:
        """`directory` is where the program is, or will be."""
        self._program = directory / "franz"

    def build(self) -> None:
        done = subprocess.run(
            ["go", "build", "-mod=readonly", "-o", str(self._program), "."],
            cwd=SOURCE,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()

    def command(self) -> list[str]:
        return [str(self._program)]
