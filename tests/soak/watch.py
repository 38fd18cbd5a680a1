"""The broker seen from outside, every few seconds: memory, descriptors, threads, CPU, disk, health, latency."""

from __future__ import annotations

import http.client
import os
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import psutil

from tests.soak.plan import LOGGED, PARTITION_BYTES_MAX, TOPICS
from tests.soak.world import PATIENCE_SECONDS, Client, World
from tests.support.penstock_process import PenstockProcess

SAMPLE_SECONDS = 5.0
SIZES = "penstock_log_size_bytes"
STARTS = "penstock_log_start_offset"


@dataclass(slots=True, kw_only=True)
class Sample:
    """One look. Memory is anonymous memory of the broker and its workers, which is what a leak makes grow."""

    at: float
    life: int
    anonymous_mb: float
    workers_mb: float
    files: int
    threads: int
    cpu_seconds: float
    disk_mb: float
    connections: int
    p50_ms: float | None
    p99_ms: float | None
    acknowledged: int
    read: int

    def as_dict(self) -> dict[str, Any]:
        return {name: round(value, 3) if isinstance(value, float) else value for name, value in asdict(self).items()}


@dataclass(slots=True)
class OpenThings:
    """The broker's resources without clients: descriptors by kind, threads, files that no directory names."""

    kinds: dict[str, int] = field(default_factory=dict)
    threads: int = 0
    deleted: list[str] = field(default_factory=list)
    trash: int = 0


def anonymous_mb(process: psutil.Process) -> float:
    for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) / 1024
    return 0.0


def disk_mb(directory: Path) -> float:
    """Blocks in use below a directory; files come and go meanwhile."""
    total = 0
    for parent, _, names in os.walk(directory):
        for name in names:
            try:
                total += os.stat(os.path.join(parent, name)).st_blocks * 512
            except FileNotFoundError:
                pass
    return total / (1 << 20)


def open_things(broker: PenstockProcess) -> OpenThings:
    things = OpenThings(threads=len(os.listdir(f"/proc/{broker.pid}/task")))
    for entry in os.listdir(f"/proc/{broker.pid}/fd"):
        try:
            target = os.readlink(f"/proc/{broker.pid}/fd/{entry}")
        except FileNotFoundError:
            continue
        kind = target.split(":")[0] if not target.startswith("/") else Path(target.removesuffix(" (deleted)")).suffix
        things.kinds[kind] = things.kinds.get(kind, 0) + 1
        if target.endswith(" (deleted)") and str(broker.data_directory) in target:
            things.deleted.append(target)
    trash = broker.data_directory / "trash"
    things.trash = len(os.listdir(trash)) if trash.exists() else 0
    return things


def get(broker: PenstockProcess, path: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection(broker.host, broker.http_port, timeout=PATIENCE_SECONDS)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def metrics_of(text: str) -> dict[str, float]:
    """Every line: name with labels, value."""
    lines = (line.rsplit(" ", 1) for line in text.splitlines() if line and not line.startswith("#"))
    return {name: float(value) for name, value in lines}


class Watcher(Client):
    """Takes the samples; complains at once about what may never be."""

    pause = SAMPLE_SECONDS

    def __init__(self, world: World) -> None:
        super().__init__(world, "watcher")
        self.samples: list[Sample] = []
        self.metrics: dict[str, float] = {}

    def turn(self) -> None:
        life = self._life = self.world.life
        if life % 2:
            return
        try:
            status, text = get(self.world.broker, "/metrics")
            ready, reason = get(self.world.broker, "/health/ready")
            sample = self._sample(life)
        except (http.client.HTTPException, psutil.NoSuchProcess, FileNotFoundError, AssertionError):
            if self.world.life == life:
                raise
            return
        if status != 200 or (ready != 200 and self.world.life == life):
            self.world.problem(f"{self.name}: /metrics {status}, /health/ready {ready} {reason}")
        self.metrics = metrics_of(text)
        self.samples.append(sample)
        self._check_sizes()

    def _sample(self, life: int) -> Sample:
        process = psutil.Process(self.world.broker.pid)
        latencies = self.world.take_latencies()
        times = process.cpu_times()
        return Sample(
            at=time.monotonic() - self.world.started,
            life=life,
            anonymous_mb=anonymous_mb(process),
            workers_mb=sum(self._worker_mb(child) for child in process.children(recursive=True)),
            files=process.num_fds(),
            threads=process.num_threads(),
            cpu_seconds=times.user + times.system,
            disk_mb=disk_mb(self.world.broker.data_directory),
            connections=int(self.metrics.get("penstock_connections", 0)),
            p50_ms=latencies[len(latencies) // 2] * 1000 if latencies else None,
            p99_ms=latencies[int(len(latencies) * 0.99)] * 1000 if latencies else None,
            acknowledged=self.world.ledger.acknowledged,
            read=self.world.ledger.read,
        )

    @staticmethod
    def _worker_mb(child: psutil.Process) -> float:
        try:
            return anonymous_mb(child)
        except FileNotFoundError:
            return 0.0

    def _check_sizes(self) -> None:
        for topic in TOPICS:
            for index in range(topic.partitions):
                labels = f'{{topic="{topic.name}",partition="{index}"}}'
                size = self.metrics.get(SIZES + labels, 0.0)
                if size > PARTITION_BYTES_MAX and not self.world.was_suspended():
                    self.world.problem(f"{topic.name}-{index} takes {size:.0f} bytes")
                kept = topic.retention_bytes
                if kept is not None and self.metrics.get(STARTS + labels, 0.0) > 0 and size < kept:
                    self.world.problem(f"{topic.name}-{index} was cut to {size:.0f} bytes, below its retention.bytes")

    def starts(self) -> dict[str, float]:
        """Where the logs begin: above 0 where retention has been at work."""
        found = {}
        for topic in LOGGED:
            for index in range(topic.partitions):
                name = f"{topic.name}-{index}"
                found[name] = self.metrics.get(f'{STARTS}{{topic="{topic.name}",partition="{index}"}}', 0.0)
        return found
