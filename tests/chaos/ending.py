"""The end of a run: open transactions are ended, every partition is read from its beginning, offsets are fetched."""

from __future__ import annotations

import functools
import time

from confluent_kafka import Consumer, KafkaError, TopicPartition

from penstock.testing.consistency.history import FullRead, Isolation, Partition, Seen
from penstock.testing.consistency.history_file import Recorder, now
from tests.chaos.clients.frames import FramesClient
from tests.chaos.clients.transactional import Settings
from tests.chaos.crew import Crew
from tests.chaos.plan import PARTITIONS, TRANSACTION_TIMEOUT_MS
from tests.chaos.readers import consumer_settings, seen
from tests.chaos.watchers import OffsetWatcher
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient
from tests.support.waiting import DeadlinePassed, wait_until

SETTLE_SECONDS = 30.0
READ_SECONDS = 60.0
COMMITTED_LEVEL = 1


def fence_all(broker: BrokerProcess, crew: Crew) -> None:
    """A new producer takes over every transactional id; the broker ends what was open."""
    for name in crew.transactional_ids:
        client = FramesClient(Settings(broker.bootstrap, name, "", TRANSACTION_TIMEOUT_MS))
        client.start()
        client.close()


def settle(broker: BrokerProcess) -> None:
    """Wait until committed data can be read to the end; what still cannot, the full reads will show."""
    with RawClient(broker.host, broker.port) as raw:
        try:
            wait_until(
                lambda: all(_last_stable(raw, each) == raw.log_end(*each) for each in PARTITIONS),
                what="no transaction is open",
                within_s=SETTLE_SECONDS,
            )
        except DeadlinePassed:
            pass


def _last_stable(raw: RawClient, partition: Partition) -> int:
    return int(
        raw.fetch(partition.topic, raw.log_end(*partition), partition=partition.partition_index).last_stable_offset
    )


def read_all(broker: BrokerProcess, recorder: Recorder) -> None:
    with RawClient(broker.host, broker.port) as raw:
        log_ends = {partition: raw.log_end(*partition) for partition in PARTITIONS}
    for isolation in Isolation:
        _read(broker, recorder, isolation, log_ends)


def _read(broker: BrokerProcess, recorder: Recorder, isolation: Isolation, log_ends: dict[Partition, int]) -> None:
    settings = {**consumer_settings(broker.bootstrap, isolation), "enable.partition.eof": True}
    consumer = Consumer(settings)
    consumer.assign([TopicPartition(*partition, 0) for partition in PARTITIONS])
    records: dict[Partition, list[Seen]] = {partition: [] for partition in PARTITIONS}
    reached: dict[Partition, int] = {}
    started, deadline = now(), time.monotonic() + READ_SECONDS
    while len(reached) < len(PARTITIONS) and time.monotonic() < deadline:
        for message in consumer.consume(500, 1.0):
            record, error = seen(message), message.error()
            if record is not None:
                records[record.partition].append(record)
            elif error is not None and error.code() == KafkaError._PARTITION_EOF:
                reached[Partition(message.topic() or "", message.partition() or 0)] = message.offset() or 0
    consumer.close()
    for partition, found in records.items():
        recorder.note(
            FullRead(
                client=recorder.client,
                number=recorder.number(),
                started=started,
                ended=now(),
                isolation=isolation,
                topic=partition.topic,
                partition_index=partition.partition_index,
                reached=reached.get(partition, 0),
                log_end=log_ends[partition],
                records=tuple(found),
            )
        )


def fetch_offsets(broker: BrokerProcess, crew: Crew, recorder: Recorder) -> None:
    """Of every group, once it is stable."""
    watcher = OffsetWatcher(broker.bootstrap, recorder, crew.groups, 0)
    with RawClient(broker.host, broker.port) as raw:
        for group in crew.groups:
            told = functools.partial(watcher.fetch, raw, group)
            wait_until(told, what=f"{group} is stable", within_s=SETTLE_SECONDS)
