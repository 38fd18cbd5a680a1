"""The world of the exactly-once tests: a topic that is copied to another by drivers that die, and what came of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.client.address import Address
from penstock.client.cluster import Cluster
from penstock.client.offsets import bounds
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.errors import ErrorCode
from penstock.model.topic_partition import TopicPartition
from penstock_spark.reading.records.range_reader import RangeReader
from tests.support.batches import now_ms
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient, unique_name
from tests.support.waiting import wait_until

PARTITIONS = 2
DRIVER_DEADLINE_S = 300.0  # Spark needs ten seconds to start, on a machine that has nothing else to do


@dataclass
class CopyWorld:
    """`address` is where drivers find the broker: perhaps a proxy."""

    broker: BrokerProcess
    directory: Path
    address: str
    master: str = "local[2,4]"
    conf: dict[str, str] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    timeouts: dict[str, int] = field(default_factory=dict)
    batch: int = 60
    slow: str = ""
    """A directory: the first task is slow, and each attempt leaves a file there."""

    def __post_init__(self) -> None:
        self.expected = 0
        with RawClient(self.broker.host, self.broker.port) as client:
            self.source = client.create_topic(unique_name("in"), partitions=PARTITIONS)
            self.target = client.create_topic(unique_name("out"), partitions=PARTITIONS + 1)

    def feed(self, count: int) -> None:
        with RawClient(self.broker.host, self.broker.port) as client:
            for partition in range(PARTITIONS):
                records = [self._record() for _ in range(count // PARTITIONS)]
                batch = bytes(build_batch(records, timestamp=now_ms()))
                wait_until(lambda at=partition, it=batch: self._is_stored(client, it, at), what="a batch is stored")  # type: ignore[misc]

    def _is_stored(self, client: RawClient, batch: bytes, partition: int) -> bool:
        """False while a broker that has just started does not lead its partitions yet."""
        code = ErrorCode(client.produce(self.source, batch, partition=partition).error_code)
        early = (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        assert code in early, code.name
        return code is ErrorCode.NONE

    def _record(self) -> NewRecord:
        self.expected += 1
        return NewRecord(f"k{self.expected}".encode(), f"{self.expected}".encode())

    def driver(self, checkpoint: str = "checkpoint") -> Driver:
        given = {
            "master": self.master, "conf": self.conf, "bootstrap": self.address, "timeouts": self.timeouts,
            "source": self.source, "target": self.target, "options": self.options, "batch": self.batch,
            "slow": self.slow,
            "checkpoint": str(self.directory / checkpoint),
        }  # fmt: skip
        return Driver(given, self.directory / "driver.log")

    def finish(self) -> None:
        """An undisturbed driver copies the rest."""
        driver = self.driver()
        assert driver.wait() == 0, driver.log()

    def copied(self) -> Counter[str]:
        """Each value that a reader of committed records sees, and how often."""
        found: Counter[str] = Counter()
        with Cluster([Address(self.broker.host, self.broker.port)]) as cluster:
            places = [TopicPartition(self.target, index) for index in range(PARTITIONS + 1)]
            for place, (first, end) in bounds(cluster, places, committed=True).items():
                for rows in RangeReader(cluster, place, first, end, ["value"]):
                    found.update(bytes(each).decode() for each in rows.column(0).to_pylist())
        return found

    def check(self) -> None:
        """Everything once."""
        found = self.copied()
        twice = [value for value, count in found.items() if count > 1]
        lost = [str(number) for number in range(1, self.expected + 1) if str(number) not in found]
        assert not twice, f"{len(twice)} values twice, such as {twice[:5]}"
        assert not lost, f"{len(lost)} values lost, such as {lost[:5]}"
        assert len(found) == self.expected


class Driver:
    """One driver process with everything that it starts."""

    def __init__(self, given: dict[str, Any], log_file: Path) -> None:
        self._log_file = log_file
        with log_file.open("ab") as log:
            self._log_start = log.tell()  # what is before it is of drivers before this one
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.spark.copy_driver", json.dumps(given)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
                cwd=log_file.parent, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            )  # fmt: skip

    def kill(self) -> None:
        """Without a word, with its JVM and its workers."""
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._process.wait(10)

    def wait(self, within_s: float = DRIVER_DEADLINE_S) -> int:
        try:
            return self._process.wait(within_s)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"the driver does not end\n{self.log()}") from None

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    @property
    def has_started(self) -> bool:
        """Its query runs."""
        return b"started\n" in self._log_file.read_bytes()[self._log_start :]

    def log(self) -> str:
        return "\n".join(self._log_file.read_text(errors="replace").splitlines()[-60:])
