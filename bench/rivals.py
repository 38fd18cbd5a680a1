"""A broker of our own to measure: started in a directory of its own, watched, stopped by its own process id.

Penstock runs with its defaults, that is with `storage.flush: always`: an answer waits for the disk. Apache Kafka runs
as it comes: the values of its own `config/server.properties` and the JVM options that its `kafka-server-start.sh` sets,
which means that it syncs nothing before it answers. Its jars come from `tests/compat/setup.sh`, or from the directory
that PENSTOCK_KAFKA_JARS names.
"""

from __future__ import annotations

import base64
import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from abc import ABC, abstractmethod
from pathlib import Path

import psutil

from bench.wire import Address, answers

HOST = "127.0.0.1"
START_DEADLINE_S = 180.0
STOP_DEADLINE_S = 120.0
TERMINATED = 143  # what SIGTERM makes of a process that ends in order
JARS = Path(__file__).parents[1] / "tests" / "compat" / ".cache" / "kafka"
# kafka-server-start.sh (KAFKA_HEAP_OPTS) and kafka-run-class.sh (KAFKA_JVM_PERFORMANCE_OPTS).
JVM_OPTIONS = (
    "-Xmx1G",
    "-Xms1G",
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


class Rival(ABC):
    """One broker: `start` gives the seconds until it answered ApiVersions for the first time."""

    name = ""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.address: Address = (HOST, free_port())
        self._process: subprocess.Popen[bytes] | None = None
        directory.mkdir(parents=True, exist_ok=True)

    @abstractmethod
    def command(self) -> list[str]: ...

    @property
    def metrics_url(self) -> str | None:
        return None

    def start(self) -> float:
        log = (self.directory / "broker.log").open("ab")
        started = time.perf_counter()
        with log:
            self._process = subprocess.Popen(
                self.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, cwd=self.directory
            )
        while not self.answers():
            if self._process.poll() is not None or time.perf_counter() > started + START_DEADLINE_S:
                self.stop()
                raise RuntimeError(f"{self.name} did not start; see {self.directory}/broker.log")
            time.sleep(0.002)
        return time.perf_counter() - started

    def answers(self) -> bool:
        """Whether it serves."""
        return answers(self.address)

    def stop(self) -> None:
        if self._process is None:
            return
        process, self._process = self._process, None
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_DEADLINE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise RuntimeError(f"{self.name} did not stop") from None

    def _processes(self) -> list[psutil.Process]:
        assert self._process is not None, "the broker is not running"
        own = psutil.Process(self._process.pid)
        return [own, *own.children(recursive=True)]

    def memory(self) -> dict[str, float]:
        """MB of all its processes together. `rss_mb` is what the targets are about."""
        kinds = {"RssAnon": 0, "RssFile": 0, "RssShmem": 0}
        for process in self._processes():
            for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
                kind, _, value = line.partition(":")
                if kind in kinds:
                    kinds[kind] += int(value.split()[0])
        anonymous, file, shared = (size / 1024 for size in kinds.values())
        return {"rss_mb": anonymous + file + shared, "rss_anon_mb": anonymous, "rss_file_mb": file + shared}

    def cpu_seconds(self) -> float:
        times = [process.cpu_times() for process in self._processes()]
        return sum(one.user + one.system for one in times)

    def cpu_ns(self) -> int:
        """Nanoseconds on a processor, of all threads that run: exact, where `cpu_seconds` counts in ticks."""
        return sum(
            int(schedstat.read_text().split()[0])
            for process in self._processes()
            for schedstat in Path(f"/proc/{process.pid}/task").glob("*/schedstat")
        )


class Penstock(Rival):
    """`settings` are those of `penstock serve --set`."""

    name = "penstock"

    def __init__(self, directory: Path, **settings: str) -> None:
        super().__init__(directory)
        self._http_port = free_port()
        self._settings = settings

    @property
    def http_url(self) -> str:
        return f"http://{HOST}:{self._http_port}"

    @property
    def metrics_url(self) -> str | None:
        return f"{self.http_url}/metrics"

    def command(self) -> list[str]:
        flags = ["--data-dir", str(self.directory / "data"), "--log-level", "WARNING"]
        flags += ["--kafka-port", str(self.address[1]), "--http-port", str(self._http_port), "--push-port", "0"]
        for name, value in self._settings.items():
            flags += ["--set", f"{name}={value}"]
        return [sys.executable, "-m", "penstock", "serve", *flags]


class Kafka(Rival):
    """Apache Kafka, one KRaft node."""

    name = "kafka"
    settings: dict[str, str] = {}  # noqa: RUF012  # only replaced by subclasses
    format_options: tuple[str, ...] = ()

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        if not any(jars().glob("kafka_*.jar")):
            raise RuntimeError(f"there is no Apache Kafka in {jars()}: make compat-setup")
        self._controller_port = free_port()
        self._properties = directory / "server.properties"
        self._properties.write_text("".join(f"{key}={value}\n" for key, value in self._all_settings().items()))
        cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        # With "=", since an id may begin with a dash.
        arguments = ("format", f"--cluster-id={cluster_id}", "-c", str(self._properties), *self.format_options)
        subprocess.run(java("kafka.tools.StorageTool", *arguments), check=True, capture_output=True)

    def _all_settings(self) -> dict[str, str]:
        return {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@{HOST}:{self._controller_port}",
            "controller.listener.names": "CONTROLLER",
            "listeners": f"PLAINTEXT://{HOST}:{self.address[1]},CONTROLLER://{HOST}:{self._controller_port}",
            "advertised.listeners": f"PLAINTEXT://{HOST}:{self.address[1]}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "log.dirs": str(self.directory / "data"),
            # What config/server.properties of the distribution says.
            "num.network.threads": "3",
            "num.io.threads": "8",
            "socket.send.buffer.bytes": "102400",
            "socket.receive.buffer.bytes": "102400",
            "socket.request.max.bytes": "104857600",
            "num.partitions": "1",
            "num.recovery.threads.per.data.dir": "2",
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "log.retention.hours": "168",
            "log.segment.bytes": "1073741824",
            "log.retention.check.interval.ms": "300000",
            **self.settings,
        }

    def command(self) -> list[str]:
        return java("kafka.Kafka", str(self._properties), options=JVM_OPTIONS)


class FlushingKafka(Kafka):
    """Apache Kafka that syncs every message before it answers, as Penstock does: for information."""

    name = "kafka_fsync"
    settings = {"log.flush.interval.messages": "1"}  # noqa: RUF012


def end_in_order_on_sigterm() -> None:
    """So that a run which is told to end stops its broker and removes its directory."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))


def jars() -> Path:
    return Path(os.environ.get("PENSTOCK_KAFKA_JARS", JARS))


def java(main_class: str, *arguments: str, options: tuple[str, ...] = ()) -> list[str]:
    return ["java", *options, "-cp", f"{jars()}/*", main_class, *arguments]
