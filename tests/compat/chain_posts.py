"""The members of a chain of topics as processes: `chain_member.py` and `ChainMember.java`, and the posts they hold.

What shall happen when a member comes to a step is done by the very thread that reads what it prints, so that most kills
hit what they were meant for; where a kill really hit is what the member printed last.
"""

import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.compat.chain_workers import RECORDS_MAX, TRANSACTION_TIMEOUT_MS
from tests.compat.clients.java import OPTIONS
from tests.compat.event_process import EventProcess
from tests.compat.group_member import HEARTBEAT_MS
from tests.support.kafka_process import jars_directory

SOURCE = Path(__file__).with_name("ChainMember.java")
SESSION_TIMEOUT_MS = 2_500
ABORT_EVERY = 9

OPEN = ("begun", "sent", "offsets", "committing")
"""A member whose last word this was had a transaction open, or was ending it."""
STEPS = (*OPEN, "committed", "aborted")


def compile_member(directory: Path) -> Path:
    """The class path on which `ChainMember` is."""
    command = ["javac", "-nowarn", "-cp", f"{jars_directory()}/*", "-d", str(directory), str(SOURCE)]
    subprocess.run(command, check=True, capture_output=True)
    return directory


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """The topics that the members of one group read and write."""

    bootstrap: str
    group: str
    source: str
    target: str
    classes: Path

    def command(self, kind: str, name: str) -> list[str]:
        if kind == "java":
            return self._java_command(name)
        options = {
            "bootstrap": self.bootstrap,
            "group": self.group,
            "source": self.source,
            "target": self.target,
            "transactional_id": name,
            "session_timeout_ms": SESSION_TIMEOUT_MS,
            "abort_every": ABORT_EVERY,
        }
        return [sys.executable, "-m", "tests.compat.chain_member", kind, json.dumps(options)]

    def _java_command(self, name: str) -> list[str]:
        common = {"bootstrap.servers": self.bootstrap, "reconnect.backoff.max.ms": 500}
        package = "org.apache.kafka.common.serialization.String"
        consumer = common | {
            "group.id": self.group,
            "partition.assignment.strategy": "org.apache.kafka.clients.consumer.RangeAssignor",
            "session.timeout.ms": SESSION_TIMEOUT_MS,
            "heartbeat.interval.ms": HEARTBEAT_MS,
            "isolation.level": "read_committed",
            "enable.auto.commit": "false",
            "auto.offset.reset": "earliest",
            "fetch.max.wait.ms": 100,
            "max.poll.records": RECORDS_MAX,
            "key.deserializer": f"{package}Deserializer",
            "value.deserializer": f"{package}Deserializer",
        }
        producer = common | {
            "transactional.id": name,
            "transaction.timeout.ms": TRANSACTION_TIMEOUT_MS,
            "linger.ms": 0,
            "key.serializer": f"{package}Serializer",
            "value.serializer": f"{package}Serializer",
        }
        given = [
            f"member.source={self.source}", f"member.target={self.target}", f"member.abort_every={ABORT_EVERY}",
            *(f"consumer.{key}={value}" for key, value in consumer.items()),
            *(f"producer.{key}={value}" for key, value in producer.items()),
        ]  # fmt: skip
        return ["java", *OPTIONS, "-cp", f"{jars_directory()}/*:{self.classes}", "ChainMember", *given]


class ChainMember(EventProcess):
    """One process at a post."""

    def __init__(self, kind: str, command: list[str]) -> None:
        self.assignment: set[int] = set()
        self.steps: Counter[str] = Counter()
        self.last_step = "started"
        self.problem = ""
        self._at: tuple[str, Callable[[], object]] | None = None
        super().__init__(kind, command)

    def _take(self, name: str, event: dict[str, Any]) -> None:
        match name:
            case "assigned":
                self.assignment = set(event["partitions"])
            case "fatal":
                self.problem = event["error"]
            case _:
                self.steps[name] += 1
                self.last_step = name
        if self._at is not None and self._at[0] == name:
            (_, action), self._at = self._at, None
            action()

    def at(self, step: str, action: Callable[[], object]) -> None:
        """Do this when it comes to that step the next time."""
        self._at = (step, action)

    def kill_at(self, step: str) -> None:
        self.at(step, self._process.kill)

    @property
    def was_killed(self) -> bool:
        return self._process.poll() == -signal.SIGKILL


class Post:
    """A place in a group with a transactional id of its own, which every process that holds it takes over."""

    def __init__(self, kind: str, stage: Stage, name: str) -> None:
        self.kind = kind
        self.name = name
        self.hits: list[str] = []
        """The last words of those that were killed."""
        self.exits: list[str] = []
        """Why others ended by themselves."""
        self.steps: Counter[str] = Counter()
        self._stage = stage
        self.start()

    def start(self) -> None:
        self.member = ChainMember(self.kind, self._stage.command(self.kind, self.name))

    def tend(self) -> bool:
        """Whether its member was killed; one that met a fatal error is replaced."""
        if self.member.running:
            return False
        was_killed = self.member.was_killed
        self.leave()
        if was_killed:
            self.hits.append(self.member.last_step)
        else:
            self.exits.append(self.member.problem or self.member.errors()[-2000:])
            self.start()
        return was_killed

    def leave(self) -> None:
        self.member.kill9()
        self.steps += self.member.steps

    def __str__(self) -> str:
        steps = ", ".join(f"{step} {self.steps[step]}" for step in STEPS)
        return f"{self.name}: killed at {self.hits}; ended by itself {self.exits}; {steps}"

    def now(self) -> str:
        """The last step, the assignment and the errors of its member."""
        doing = f"last step {self.member.last_step}, has {sorted(self.member.assignment)}"
        return f"{self.name}: {doing}\n{self.member.errors()[-3000:]}"
