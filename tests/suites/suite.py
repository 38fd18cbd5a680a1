"""A suite: the integration tests that one client library publishes, and how they are fetched, run and read.

The tests themselves are never changed and never copied into this repository: they are fetched into `.cache` with the
package manager of their language, in a pinned version. What a package leaves out of its own tests (a helper module that
only starts brokers, a name for the package directory) is supplied from here.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

HERE = Path(__file__).parent
CACHE = HERE / ".cache"
KAFKA_VERSION = "4.3.0"
PROGRESS_S = 15.0
SETTLED_S = 3.0


class Outcome(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """How one test ended; `message` is the first of what the test said about it."""

    outcome: Outcome
    seconds: float = 0.0
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The broker that a run is against, and the directory for its logs and reports."""

    kind: str
    host: str
    port: int
    directory: Path

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerNeeds:
    """The settings that a suite expects of its brokers, in the form of each broker."""

    port: int | None = None
    host: str = "127.0.0.1"
    node_id: int = 1
    partitions: int = 1
    topics: Sequence[str] = ()
    rebalance_delay_ms: int = 0
    session_timeout_min_ms: int = 6000


class Suite(ABC):
    """One client's tests. `name` is what SUITE= takes, `package` is where the tests come from."""

    name: str
    version: str
    package: str
    client: str
    needs: BrokerNeeds = BrokerNeeds()
    tools: Sequence[str] = ()
    # Rises with changes to `fetch`, so that older downloads are fetched again.
    recipe: int = 1

    @property
    def home(self) -> Path:
        return CACHE / f"{self.name}-{self.version}"

    def missing_tools(self) -> list[str]:
        return [tool for tool in self.tools if shutil.which(tool) is None]

    def prepare(self) -> None:
        """Fetch and build, unless a stamp says that this version is ready."""
        stamp = self.home / (".ready" if self.recipe == 1 else f".ready-{self.recipe}")
        if stamp.exists():
            return
        shutil.rmtree(self.home, ignore_errors=True)
        self.home.mkdir(parents=True)
        self.fetch()
        stamp.touch()

    @abstractmethod
    def fetch(self) -> None:
        """Put everything that `run` needs into `home`."""

    @abstractmethod
    def run(self, target: Target, only: Sequence[str] = ()) -> dict[str, Result]:
        """Run all tests, or only those named, and say how each ended. Tests that did not end are left out."""


def execute(
    command: Sequence[str],
    *,
    directory: Path,
    log: Path,
    environment: Mapping[str, str] | None = None,
    within_s: float,
    label: str,
    ends_with: Path | None = None,
) -> int | None:
    """Run a command with its output in `log`, showing that it lives; None when it had to be stopped at its deadline.

    `ends_with` is a file that it writes last: some test runners do not end by themselves after that.
    """
    started = time.monotonic()
    shown = started
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            cwd=directory,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        while True:
            try:
                return process.wait(timeout=1.0)
            except subprocess.TimeoutExpired:
                now = time.monotonic()
            except BaseException:
                _end(process)
                raise
            if ends_with is not None and ends_with.exists() and time.time() - ends_with.stat().st_mtime > SETTLED_S:
                _end(process)
                return 0
            if now - started > within_s:
                _end(process)
                print(f"    {label}: stopped after {within_s:.0f} s", flush=True)
                return None
            if now - shown > PROGRESS_S:
                shown = now
                print(f"    {label}: {now - started:.0f} s, {log.stat().st_size >> 10} KiB of output", flush=True)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Stop the command with everything that it started."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def build(command: Sequence[str], directory: Path, environment: Mapping[str, str] | None = None) -> str:
    """Run a command that must work and return what it printed; its errors are shown when it does not."""
    done = subprocess.run(
        command,
        cwd=directory,
        env={**os.environ, **(environment or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed\n{(done.stdout + done.stderr)[-4000:]}")
    return done.stdout
