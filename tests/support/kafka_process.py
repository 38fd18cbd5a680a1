"""Apache Kafka, one KRaft node: the control against which the facts were observed.

The jars come from `tests/compat/setup.sh` (or the directory that PENSTOCK_KAFKA_JARS names).
"""

import base64
import os
import shutil
import subprocess
import uuid
from pathlib import Path

from tests.support.broker_process import HOST, BrokerProcess, free_port

JARS = Path(__file__).parents[1] / "compat" / ".cache" / "kafka"
JVM_OPTIONS = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
TERMINATED = 143  # the exit code of a JVM that SIGTERM stopped cleanly


def jars_directory() -> Path:
    return Path(os.environ.get("PENSTOCK_KAFKA_JARS", JARS))


def java_command(main_class: str, *arguments: str, options: tuple[str, ...] = JVM_OPTIONS) -> list[str]:
    return ["java", *options, "-cp", f"{jars_directory()}/*", main_class, *arguments]


def compiled_sink(directory: Path) -> Path | None:
    """A class path with `TelemetrySink`, with which Kafka accepts telemetry; None if there is no compiler."""
    if shutil.which("javac") is None:
        return None
    source = Path(__file__).parent / "TelemetrySink.java"
    classes = directory / "classes"
    clients = ":".join(map(str, jars_directory().glob("kafka-clients-*.jar")))
    subprocess.run(
        ["javac", "-nowarn", "-cp", clients, "-d", str(classes), str(source)], check=True, capture_output=True
    )
    return classes


class KafkaProcess(BrokerProcess):
    kind = "kafka"

    def __init__(
        self,
        directory: Path,
        settings: dict[str, str] | None = None,
        *,
        node_id: int = 1,
        advertised_host: str = HOST,
        more_classes: Path | None = None,
    ) -> None:
        super().__init__(directory)
        self._more_classes = more_classes
        self._node_id = node_id
        self._advertised_host = advertised_host
        self._controller_port = free_port()
        self._settings = settings or {}
        self._properties = directory / "server.properties"

    def prepare(self) -> None:
        settings = {
            "process.roles": "broker,controller",
            "node.id": str(self._node_id),
            "controller.quorum.voters": f"{self._node_id}@{HOST}:{self._controller_port}",
            "controller.listener.names": "CONTROLLER",
            "listeners": f"PLAINTEXT://{HOST}:{self.port},CONTROLLER://{HOST}:{self._controller_port}",
            "advertised.listeners": f"PLAINTEXT://{self._advertised_host}:{self.port}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "log.dirs": str(self.directory / "data"),
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "5",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "transaction.state.log.num.partitions": "5",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            "log.initial.task.delay.ms": "500",
            "log.retention.check.interval.ms": "500",
            "log.cleaner.backoff.ms": "500",
            **self._settings,
        }
        self._properties.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        chosen = uuid.uuid4().bytes
        first = bytes([chosen[0] & 0x7F])  # an id that begins with "-" would be taken for an option
        cluster_id = base64.urlsafe_b64encode(first + chosen[1:]).decode().rstrip("=")
        format_command = java_command(
            "kafka.tools.StorageTool", "format", f"--cluster-id={cluster_id}", "-c", str(self._properties)
        )
        done = subprocess.run(format_command, check=False, capture_output=True)
        assert done.returncode == 0, (done.stdout + done.stderr).decode()

    def command(self) -> list[str]:
        command = java_command("kafka.Kafka", str(self._properties))
        if self._more_classes is not None:
            command[command.index("-cp") + 1] += f":{self._more_classes}"
        return command

    def clean_exit_codes(self) -> tuple[int, ...]:
        return (0, TERMINATED)
