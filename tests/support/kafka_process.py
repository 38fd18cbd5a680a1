"""Apache Kafka, one KRaft node: the control that the facts were seen on.

The jars come from `tests/compat/setup.sh` (or the directory that PENSTOCK_KAFKA_JARS names).
"""

import base64
import os
import subprocess
import uuid
from pathlib import Path

from tests.support.broker_process import HOST, BrokerProcess, free_port

JARS = Path(__file__).parents[1] / "compat" / ".cache" / "kafka"
JVM_OPTIONS = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
TERMINATED = 143  # what a JVM that SIGTERM stopped cleanly exits with


def jars_directory() -> Path:
    return Path(os.environ.get("PENSTOCK_KAFKA_JARS", JARS))


def java_command(main_class: str, *arguments: str, options: tuple[str, ...] = JVM_OPTIONS) -> list[str]:
    return ["java", *options, "-cp", f"{jars_directory()}/*", main_class, *arguments]


class KafkaProcess(BrokerProcess):
    kind = "kafka"

    def __init__(self, directory: Path, settings: dict[str, str] | None = None) -> None:
        super().__init__(directory)
        self._controller_port = free_port()
        self._settings = settings or {}
        self._properties = directory / "server.properties"

    def prepare(self) -> None:
        settings = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@{HOST}:{self._controller_port}",
            "controller.listener.names": "CONTROLLER",
            "listeners": f"PLAINTEXT://{HOST}:{self.port},CONTROLLER://{HOST}:{self._controller_port}",
            "advertised.listeners": f"PLAINTEXT://{HOST}:{self.port}",
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
        cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        format_command = java_command(
            "kafka.tools.StorageTool", "format", "-t", cluster_id, "-c", str(self._properties)
        )
        done = subprocess.run(format_command, check=False, capture_output=True)
        assert done.returncode == 0, (done.stdout + done.stderr).decode()

    def command(self) -> list[str]:
        return java_command("kafka.Kafka", str(self._properties))

    def clean_exit_codes(self) -> tuple[int, ...]:
        return (0, TERMINATED)
