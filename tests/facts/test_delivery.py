"""At most once, at least once, exactly once: a worker dies between two records, the broker with it, another goes on.

The worker copies a topic to another. Which promise holds depends on when it commits its offset: before it has written,
after, or with it in one transaction.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import OFFSET_BEGINNING, OFFSET_STORED, Consumer, Producer, TopicPartition

from tests.support.penstock_process import PenstockProcess
from tests.support.raw_client import RawClient

pytestmark = pytest.mark.feature("K-07")

RECORDS = [str(number) for number in range(10)]
DIES_AT = "4"
SECONDS = 30.0


class Promise(enum.Enum):
    AT_MOST_ONCE = enum.auto()
    AT_LEAST_ONCE = enum.auto()
    EXACTLY_ONCE = enum.auto()


class Died(Exception):
    pass


@pytest.fixture
def process(tmp_path: Path) -> Iterator[PenstockProcess]:
    broker = PenstockProcess(tmp_path)
    broker.start()
    try:
        yield broker
    finally:
        broker.kill9()


class Worker:
    """Copies `source` to `sink` until all is copied; dies once, when half of its work with one record is done."""

    def __init__(self, process: PenstockProcess, promise: Promise, *, dies: bool) -> None:
        common = {"bootstrap.servers": process.bootstrap}
        self._promise = promise
        self._dies = dies
        self._consumer = Consumer(
            {**common, "group.id": "workers", "enable.auto.commit": False, "auto.offset.reset": "earliest"}
        )
        self._consumer.assign([TopicPartition("source", 0, OFFSET_STORED)])
        transactional = {"transactional.id": "worker"} if promise is Promise.EXACTLY_ONCE else {}
        self._producer = Producer({**common, **transactional})
        if transactional:
            self._producer.init_transactions(SECONDS)

    def run(self) -> None:
        for value in read(self._consumer, RECORDS[-1]):
            match self._promise:
                case Promise.AT_MOST_ONCE:
                    self._consumer.commit(asynchronous=False)
                    self._perhaps_die(value)
                    self._write(value)
                case Promise.AT_LEAST_ONCE:
                    self._write(value)
                    self._perhaps_die(value)
                    self._consumer.commit(asynchronous=False)
                case Promise.EXACTLY_ONCE:
                    self._producer.begin_transaction()
                    self._write(value)
                    self._perhaps_die(value)
                    position = self._consumer.position(self._consumer.assignment())
                    group = self._consumer.consumer_group_metadata()
                    self._producer.send_offsets_to_transaction(position, group, SECONDS)
                    self._producer.commit_transaction(SECONDS)
        self._consumer.close()

    def _write(self, value: str) -> None:
        self._producer.produce("sink", value.encode(), partition=0)
        assert self._producer.flush(SECONDS) == 0

    def _perhaps_die(self, value: str) -> None:
        if self._dies and value == DIES_AT:
            raise Died


def read(consumer: Consumer, last: str) -> Iterator[str]:
    while True:
        message = consumer.poll(SECONDS)
        assert message is not None
        assert message.error() is None, message.error()
        value = (message.value() or b"").decode()
        yield value
        if value == last:
            return


def copied(process: PenstockProcess) -> list[str]:
    consumer = Consumer(
        {"bootstrap.servers": process.bootstrap, "group.id": "reader", "isolation.level": "read_committed"}
    )
    consumer.assign([TopicPartition("sink", 0, OFFSET_BEGINNING)])
    found = list(read(consumer, RECORDS[-1]))
    consumer.close()
    return found


@pytest.mark.parametrize(
    ("promise", "expected"),
    [
        (Promise.AT_MOST_ONCE, [value for value in RECORDS if value != DIES_AT]),
        (Promise.AT_LEAST_ONCE, sorted([*RECORDS, DIES_AT])),
        (Promise.EXACTLY_ONCE, RECORDS),
    ],
)
def test_a_record_is_copied(process: PenstockProcess, promise: Promise, expected: list[str]) -> None:
    with RawClient(process.host, process.port) as client:
        client.create_topic("source")
        client.create_topic("sink")
    source = Producer({"bootstrap.servers": process.bootstrap})
    for value in RECORDS:
        source.produce("source", value.encode(), partition=0)
    assert source.flush(SECONDS) == 0
    with pytest.raises(Died):
        Worker(process, promise, dies=True).run()
    process.kill9()
    process.start()
    Worker(process, promise, dies=False).run()
    assert copied(process) == expected
