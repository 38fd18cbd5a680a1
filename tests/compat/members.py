"""Members of a consumer group as processes: started, watched, asked to leave, or killed.

Each kind of client prints events of its own; here they become one picture: which partitions a member has now and
which messages it has seen.
"""

import json
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.compat.clients import kafkajs
from tests.compat.clients.java import tool_command

PROGRAM = Path(__file__).with_name("group_member.py")
SESSION_TIMEOUT_MS = 6_000
STOP_DEADLINE_S = 20.0

JAVA_ASSIGNORS = {
    "range": "RangeAssignor",
    "roundrobin": "RoundRobinAssignor",
    "sticky": "StickyAssignor",
    "cooperative-sticky": "CooperativeStickyAssignor",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """What to join, and how."""

    bootstrap: str
    group: str
    topic: str
    assignor: str
    session_timeout_ms: int = SESSION_TIMEOUT_MS
    instance: str | None = None

    def as_json(self) -> dict[str, Any]:
        options = {
            "bootstrap": self.bootstrap,
            "group": self.group,
            "topic": self.topic,
            "assignor": self.assignor,
            "session_timeout_ms": self.session_timeout_ms,
        }
        return options if self.instance is None else {**options, "instance": self.instance}


class GroupMember:
    """One running member."""

    def __init__(self, kind: str, membership: Membership) -> None:
        self.kind = kind
        self.assignment: set[int] = set()
        self.assignments_seen: list[set[int]] = []
        self.messages: list[tuple[int, int, str]] = []
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  # both go with the member
        self._settings = tempfile.NamedTemporaryFile(suffix=".properties")  # noqa: SIM115
        self._process = subprocess.Popen(
            self._command(membership), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors
        )
        if kind == "kafkajs":
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps(membership.as_json()).encode())
            self._process.stdin.close()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _command(self, membership: Membership) -> list[str]:
        if self.kind == "kafkajs":
            return kafkajs.command("member")
        if self.kind == "java":
            return self._java_command(membership)
        return [sys.executable, str(PROGRAM), self.kind, json.dumps(membership.as_json())]

    def _java_command(self, membership: Membership) -> list[str]:
        self._settings.write(b"heartbeat.interval.ms=500\nauto.commit.interval.ms=200\n")
        self._settings.flush()
        arguments = [
            "--bootstrap-server", membership.bootstrap, "--topic", membership.topic,
            "--group-id", membership.group, "--session-timeout", str(membership.session_timeout_ms),
            "--assignment-strategy", f"org.apache.kafka.clients.consumer.{JAVA_ASSIGNORS[membership.assignor]}",
            "--reset-policy", "earliest", "--verbose", "--command-config", self._settings.name,
        ]  # fmt: skip
        if membership.instance is not None:
            arguments += ["--group-instance-id", membership.instance]
        return tool_command("VerifiableConsumer", *arguments)

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            try:
                event = json.loads(line)
            except ValueError:
                continue
            self._take(event.get("event") or event.get("name"), event)

    def _take(self, name: str, event: dict[str, Any]) -> None:
        match name:
            case "assigned":
                self._assign(set(event["partitions"]))
            case "partitions_assigned":
                self._assign(self.assignment | {each["partition"] for each in event["partitions"]})
            case "partitions_revoked" | "partitions_lost":
                self._assign(self.assignment - {each["partition"] for each in event["partitions"]})
            case "message" | "record_data":
                self.messages.append((event["partition"], event["offset"], str(event["value"])))

    def _assign(self, partitions: set[int]) -> None:
        self.assignment = partitions
        self.assignments_seen.append(partitions)

    @property
    def values(self) -> list[str]:
        return [value for _, _, value in self.messages]

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def errors(self) -> str:
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace")

    def stop(self) -> None:
        """Ask it to leave the group and end."""
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
        self.assignment = set()
        self._reader.join(STOP_DEADLINE_S)
