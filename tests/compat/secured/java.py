"""Kafka's own client for Java, in `SecuredClient.java`."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.compat.clients.java import OPTIONS
from tests.compat.secured.client import Door
from tests.compat.secured.program import Program, Task
from tests.support.kafka_process import jars_directory

SOURCE = Path(__file__).with_name("SecuredClient.java")


class JavaClient(Program):
    name = "java"
    denied = "TopicAuthorizationException"
    distrusts = ("unable to find valid certification path", "No subject alternative names matching IP address")

    def __init__(self, directory: Path) -> None:
        """`directory` is where the classes are, or will be."""
        self._classes = directory

    def compile(self) -> None:
        jars = ":".join(map(str, jars_directory().glob("kafka-clients-*.jar")))
        subprocess.run(
            ["javac", "-nowarn", "-cp", jars, "-d", str(self._classes), str(SOURCE)], check=True, capture_output=True
        )

    def command(self) -> list[str]:
        return ["java", *OPTIONS, "-cp", f"{jars_directory()}/*:{self._classes}", "SecuredClient"]

    def client_of(self, door: Door) -> Mapping[str, str]:
        return {"bootstrap.servers": door.address, **door.java_properties}

    def encoded(self, task: Task, client: Mapping[str, str]) -> bytes:
        """Lines of NAME=VALUE."""
        lines = [f"{name}={value}" for name, value in task.items()]
        return "\n".join([*lines, *(f"client.{name}={value}" for name, value in client.items())]).encode()
