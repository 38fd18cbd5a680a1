"""Members of a consumer group as processes: started, watched, asked to leave, or killed.

Each kind of client prints events of its own; here they become one picture: which partitions a member has now and
which messages it has seen.
"""

import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.compat.clients import kafkajs
from tests.compat.clients.java import tool_command
from tests.compat.event_process import EventProcess

PROGRAM = Path(__file__).with_name("group_member.py")
SESSION_TIMEOUT_MS = 6_000

JAVA_ASSIGNORS = {
    "range": "RangeAssignor",
    "roundrobin": "RoundRobinAssignor",
    "sticky": "StickyAssignor",
    "cooperative-sticky": "CooperativeStickyAssignor",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """The group to join, and its settings."""

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


class GroupMember(EventProcess):
    """One running member."""

    def __init__(self, kind: str, membership: Membership) -> None:
        self.assignment: set[int] = set()
        self.assignments_seen: list[set[int]] = []
        self.messages: list[tuple[int, int, str]] = []
        self._settings = tempfile.NamedTemporaryFile(suffix=".properties")  # noqa: SIM115  # goes with the member
        options = json.dumps(membership.as_json())
        stdin = options.encode() if kind == "kafkajs" else b""
        super().__init__(kind, self._command(kind, membership, options), stdin=stdin)

    def _command(self, kind: str, membership: Membership, options: str) -> list[str]:
        if kind == "kafkajs":
            return kafkajs.command("member")
        if kind == "java":
            return self._java_command(membership)
        return [sys.executable, str(PROGRAM), kind, options]

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

    def kill9(self) -> None:
        super().kill9()
        self.assignment = set()
