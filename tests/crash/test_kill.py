"""kill -9 under load from several idempotent clients: everything acknowledged is there, once, in order."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.support.fixtures import PENSTOCK_CONFIG
from tests.support.penstock_process import PenstockProcess
from tests.support.raw_client import RawClient

TOPIC = "killed"
PARTITIONS = 3


class Load:
    """One producer that writes numbers and notes which were acknowledged."""

    def __init__(self, bootstrap: str, name: int) -> None:
        self.name = name
        self.acknowledged: dict[int, tuple[int, int]] = {}  # number: partition, offset
        self.failed: list[str] = []
        self.sent = 0
        self._stopping = threading.Event()
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "linger.ms": 1,
                "message.timeout.ms": 120_000,
                "retry.backoff.ms": 50,
                "reconnect.backoff.max.ms": 200,
                "log_level": 0,
            }
        )
        self._thread = threading.Thread(target=self._run)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()
        assert self._producer.flush(120) == 0

    def _run(self) -> None:
        while not self._stopping.is_set():
            number = self.sent
            try:
                self._producer.produce(
                    TOPIC,
                    f"{self.name}:{number}".encode(),
                    partition=number % PARTITIONS,
                    on_delivery=partial(self._delivered, number),
                )
            except BufferError:
                self._producer.poll(0.05)
                continue
            self.sent += 1
            self._producer.poll(0)
            if number % 50 == 0:
                time.sleep(0.002)  # a pace, not a wait: many small batches rather than few large ones

    def _delivered(self, number: int, error: Any, message: Any) -> None:
        if error is not None:
            self.failed.append(str(error))
        else:
            self.acknowledged[number] = (message.partition(), message.offset())


def read_all(bootstrap: str) -> dict[int, list[tuple[int, str]]]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "reader", "enable.auto.commit": False})
    found: dict[int, list[tuple[int, str]]] = defaultdict(list)
    for partition in range(PARTITIONS):
        _, end = consumer.get_watermark_offsets(TopicPartition(TOPIC, partition), timeout=20)
        consumer.assign([TopicPartition(TOPIC, partition, 0)])
        deadline = time.monotonic() + 60
        while len(found[partition]) < end:
            assert time.monotonic() < deadline, f"{len(found[partition])} messages in partition {partition}, not {end}"
            for message in consumer.consume(500, timeout=0.2):
                assert message.error() is None, message.error()
                value = message.value()
                assert isinstance(value, bytes)
                found[partition].append((message.offset() or 0, value.decode()))
    consumer.close()
    return found


def check(loads: list[Load], found: dict[int, list[tuple[int, str]]]) -> None:
    for partition, messages in found.items():
        assert [offset for offset, _ in messages] == list(range(len(messages)))
        for load in loads:
            numbers = [int(value.split(":")[1]) for _, value in messages if value.startswith(f"{load.name}:")]
            assert numbers == sorted(set(numbers)), f"producer {load.name} in partition {partition}"
    at = {(partition, offset): value for partition, messages in found.items() for offset, value in messages}
    for load in loads:
        assert load.failed == []
        assert len(load.acknowledged) == load.sent
        for number, place in load.acknowledged.items():
            assert at[place] == f"{load.name}:{number}"
    assert len(at) == sum(load.sent for load in loads)


def kill_under_load(directory: Path, times: int, seed: int) -> None:
    random = Random(seed)
    broker = PenstockProcess(directory, PENSTOCK_CONFIG)
    broker.prepare()
    broker.start()
    try:
        with RawClient(broker.host, broker.port) as client:
            client.create_topic(TOPIC, partitions=PARTITIONS, configs={"segment.bytes": str(1 << 20)})
        loads = [Load(broker.bootstrap, name) for name in range(3)]
        for load in loads:
            load.start()
        for _ in range(times):
            before = sum(len(load.acknowledged) for load in loads)
            deadline = time.monotonic() + 30
            while sum(len(load.acknowledged) for load in loads) < before + random.randrange(100, 4000):
                assert time.monotonic() < deadline, "the producers are stuck\n" + broker.log_tail()
                time.sleep(0.005)
            broker.kill9()
            broker.start()
        for load in loads:
            load.stop()
        check(loads, read_all(broker.bootstrap))
        assert "damaged" not in broker.log_file.read_text()
    finally:
        if broker.running:
            broker.stop()


@pytest.mark.crash
@pytest.mark.feature("P-05", "P-24", "X-01", "X-02")
def test_two_kills(tmp_path: Path) -> None:
    kill_under_load(tmp_path, 2, seed=1)


@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.feature("P-05", "X-01", "X-02")
def test_twenty_kills(tmp_path: Path) -> None:
    kill_under_load(tmp_path, 20, seed=2)
