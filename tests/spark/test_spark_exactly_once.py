"""Writers under one name, in turn: whichever has it, every piece of work is done once."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from penstock.client.address import Address
from penstock.client.cluster import Cluster
from penstock.client.offsets import bounds
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.topic_partition import TopicPartition
from penstock_spark.reading.records.range_reader import RangeReader
from penstock_spark.user_options import Broker
from penstock_spark.writing.exactly_once import ExactlyOnce
from penstock_spark.writing.idle_writers import writer
from tests.support.batches import now_ms
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient, unique_name
from tests.support.waiting import wait_until

TIMEOUT_MS = 60_000


def batches(topic: str, number: int) -> Iterator[tuple[TopicPartition, bytearray]]:
    for index in range(2):
        yield TopicPartition(topic, index), build_batch([NewRecord(b"k", b"%d" % number)], timestamp=now_ms())


def check(address: Address, topic: str, wanted: list[int]) -> None:
    """The committed records in each partition; the last transaction may take a moment to be decided."""
    wait_until(lambda: all(len(each) >= len(wanted) for each in written(address, topic)), what="the last batch")
    assert written(address, topic) == [wanted, wanted]


def written(address: Address, topic: str) -> list[list[int]]:
    found = []
    with Cluster([address]) as cluster:
        for place, (first, end) in bounds(
            cluster, [TopicPartition(topic, index) for index in range(2)], committed=True
        ).items():
            rows = [value.as_py() for batch in RangeReader(cluster, place, first, end, ["value"]) for value in batch[0]]
            found.append([int(value) for value in rows])
    return found


@pytest.mark.feature("S-02")
@pytest.mark.parametrize("seed", range(5))
def test_writers_that_take_turns(broker: BrokerProcess, client: RawClient, seed: int) -> None:
    """Each may ask for work that another has done meanwhile, or for the next."""
    random_ = random.Random(seed)
    address, name = Address(broker.host, broker.port), unique_name("penstock")
    topic = client.create_topic(unique_name("out"), partitions=2)
    writers = [ExactlyOnce(Cluster([address], timeout_s=20), name, TIMEOUT_MS) for _ in range(3)]
    done = 0
    for _ in range(25):
        once = random_.choice(writers)
        number = random_.choice([max(1, done), done + 1, done + 1])
        assert once.write(number, lambda number=number: batches(topic, number)) == (number > done)  # type: ignore[misc]
        done = max(done, number)
        if random_.random() < 0.2:
            random_.choice(writers).cluster.forget()  # a connection that broke meanwhile
        if random_.random() < 0.1:
            random_.choice(writers).abort()
    for once in writers:
        once.close()
    check(address, topic, list(range(1, done + 1)))


@pytest.mark.feature("S-02")
def test_a_writer_that_is_kept_begins_once(broker: BrokerProcess, client: RawClient) -> None:
    """It stays connected and known; one that has failed is not kept."""
    topic, name = client.create_topic(unique_name("out"), partitions=2), unique_name("penstock")
    address = Address(broker.host, broker.port)
    of = Broker(addresses=(address,), client_id="test", timeout_s=20.0, request_timeout_s=20.0)
    kept = []
    for number in range(3):
        with writer(of, name, TIMEOUT_MS) as once:
            kept.append(once)
            assert once.write(number, lambda number=number: batches(topic, number))  # type: ignore[misc]
    assert len(set(map(id, kept))) == 1
    with pytest.raises(ZeroDivisionError), writer(of, name, TIMEOUT_MS) as once:
        raise ZeroDivisionError
    with writer(of, name, TIMEOUT_MS) as another:
        assert another is not kept[0]
        assert not another.write(2, lambda: batches(topic, 2))
    check(address, topic, [0, 1, 2])
