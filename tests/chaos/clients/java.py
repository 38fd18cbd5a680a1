"""Kafka's own client, which speaks the second generation of the protocol: a Java process that takes commands."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from penstock.testing.consistency.history import Generation, Outcome
from tests.chaos.clients.transactional import PATIENCE_SECONDS, Delivery, Message, Settings, Trouble
from tests.support.kafka_process import jars_directory
from tests.support.readable import is_readable

SOURCE = Path(__file__).with_name("ChaosProducer.java")
JVM_OPTIONS = ("-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=off"


def java_is_there() -> bool:
    return shutil.which("javac") is not None and any(jars_directory().glob("kafka-clients-*.jar"))


def compile_producer(directory: Path) -> None:
    command = ["javac", "-nowarn", "-cp", f"{jars_directory()}/*", "-d", str(directory), str(SOURCE)]
    subprocess.run(command, check=True, capture_output=True)


class JavaClient:
    generation = Generation.V2

    def __init__(self, settings: Settings, classes: str) -> None:
        self._group = settings.group
        properties = {
            "bootstrap.servers": settings.bootstrap,
            "transactional.id": settings.transactional_id,
            "transaction.timeout.ms": settings.timeout_ms,
            "max.block.ms": int(PATIENCE_SECONDS * 1000),
            "request.timeout.ms": 4000,
            "delivery.timeout.ms": settings.timeout_ms,
            "reconnect.backoff.max.ms": 500,
            "linger.ms": 0,
        }
        given = [f"{name}={value}" for name, value in properties.items()]
        path = f"{jars_directory()}/*:{classes}"
        self._process = subprocess.Popen(
            ["java", *JVM_OPTIONS, QUIET, "-cp", path, "ChaosProducer", *given],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
        )

    def _tell(self, *words: object) -> str:
        """One command; the rest of its answer after "ok"."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(("\t".join(map(str, words)) + "\n").encode())
        except OSError as error:
            raise Trouble(repr(error)) from error
        if not is_readable(self._process.stdout, 2 * PATIENCE_SECONDS):
            raise Trouble(f"no answer to {words[0]}")
        answer = self._process.stdout.readline().decode().strip()
        if not answer.startswith("ok"):
            raise Trouble(f"{words[0]}: {answer}")
        return answer[2:]

    def start(self) -> None:
        self._tell("start")

    def begin(self) -> None:
        self._tell("begin")

    def send(self, messages: list[Message]) -> list[Delivery]:
        offsets = self._tell("send", *(part for message in messages for part in message)).split()
        return [Delivery(Outcome.UNKNOWN if offset == "-1" else Outcome.OK, int(offset)) for offset in offsets]

    def send_offset(self, topic: str, partition_index: int, offset: int) -> None:
        self._tell("offset", self._group, topic, partition_index, offset)

    def commit(self) -> None:
        self._tell("commit")

    def abort(self) -> None:
        self._tell("abort")

    def close(self) -> None:
        """The whole process: what it still has to send must not be sent."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
