"""A Kafka Streams application: Kafka's own word count, without a change, at least once.

It makes topics for itself, keeps its counts in RocksDB and in a compacted topic, and shares its work by a group whose
assignor is its own. One scenario after the other over the same counts: each begins where the last one ended.
"""

import collections
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.compat.clients.java import run_tool
from tests.compat.clients.streams import APPLICATION, INPUT, OUTPUT, WordCount
from tests.support.batches import Record, batch
from tests.support.broker_process import BrokerProcess
from tests.support.group_client import committed
from tests.support.raw_client import RawClient
from tests.support.waiting import DeadlinePassed, wait_until

pytestmark = [pytest.mark.feature("F-02"), pytest.mark.timeout(400)]

PARTITIONS = 3
LINES = ("all streams lead to kafka", "hello kafka streams", "join kafka summit")
COUNTED_WITHIN_S = 60.0


class Counting:
    """What was written, and what the application makes of it."""

    def __init__(self, broker: BrokerProcess) -> None:
        self.broker = broker
        self.written: collections.Counter[str] = collections.Counter()
        self._counts: dict[str, int] = {}
        self._read_to = 0

    @contextmanager
    def client(self) -> Iterator[RawClient]:
        with RawClient(self.broker.host, self.broker.port) as client:
            yield client

    def write(self, *lines: str) -> None:
        """The same lines into every partition."""
        with self.client() as client:
            for partition in range(PARTITIONS):
                records = batch([Record(value=line.encode()) for line in lines])
                client.appended(INPUT, records, partition=partition)
        for line in lines:
            self.written.update(line.split() * PARTITIONS)

    def counts(self) -> dict[str, int]:
        """The last count of each word."""
        with self.client() as client:
            while records := client.fetch_records(OUTPUT, self._read_to):
                for record in records:
                    assert record.key is not None
                    assert record.value is not None
                    (self._counts[record.key.decode()],) = struct.unpack(">q", record.value)
                self._read_to = records[-1].offset + 1
        return self._counts

    def forget(self) -> None:
        """What was counted so far; only what comes from now on counts."""
        self.counts()
        self._counts = {}

    def check(self, *instances: WordCount) -> None:
        """Every word is counted, and counted once."""
        try:
            wait_until(lambda: self.counts() == self.written, what="every word is counted", within_s=COUNTED_WITHIN_S)
        except DeadlinePassed as error:
            logs = "\n\n".join(instance.log_tail() for instance in instances)
            raise AssertionError(f"{error}\n{self.counts()}\ninstead of\n{dict(self.written)}\n{logs}") from error

    def internal_topics(self) -> list[str]:
        with self.client() as client:
            names = [topic.name for topic in client.call("metadata", 12, topics=None).topics]
        return sorted(name for name in names if name.startswith(f"{APPLICATION}-K"))

    def configs(self, topic: str) -> dict[str, str]:
        """Those that were given to the topic itself."""
        with self.client() as client:
            resource = {"resource_type": 2, "resource_name": topic, "configuration_keys": None}
            (found,) = client.call("describe_configs", 4, resources=[resource]).results
        return {config.name: config.value for config in found.configs if config.config_source == 1}

    def shares(self) -> list[int]:
        """How many partitions each member of the group reads."""
        with self.client() as client:
            (group,) = client.call("describe_groups", 5, groups=[APPLICATION]).groups
        if group.group_state != "Stable":
            return []
        return sorted(sum(map(len, assigned(member.member_assignment).values())) for member in group.members)


def assigned(assignment: bytes) -> dict[str, list[int]]:
    """The partitions in what an assignor gave a member (the consumer protocol: version, topics, user data)."""
    (count,) = struct.unpack_from(">i", assignment, 2)
    position, found = 6, {}
    for _ in range(count):
        (length,) = struct.unpack_from(">h", assignment, position)
        name = assignment[position + 2 : position + 2 + length].decode()
        (partitions,) = struct.unpack_from(">i", assignment, position + 2 + length)
        position += 6 + length
        found[name] = list(struct.unpack_from(f">{partitions}i", assignment, position))
        position += 4 * partitions
    return found


@pytest.fixture
def counting(own_broker: BrokerProcess) -> Counting:
    if not own_broker.is_durable:
        pytest.skip("needs a broker that can be killed")
    with RawClient(own_broker.host, own_broker.port) as client:
        client.create_topic(INPUT, partitions=PARTITIONS)
        client.create_topic(OUTPUT)
    return Counting(own_broker)


@pytest.fixture
def instances(counting: Counting, tmp_path: Path) -> Iterator[list[WordCount]]:
    made = [WordCount(counting.broker.bootstrap, tmp_path / name) for name in ("first", "second")]
    yield made
    for instance in made:
        instance.kill9()


def test_word_count(counting: Counting, instances: list[WordCount]) -> None:
    """Counts stay right through a kill -9 of the broker, a second instance, lost state, and a reset."""
    first, second = instances
    first.start()
    counting.write(*LINES)
    counting.check(first)
    check_internal_topics(counting)

    for number in range(10):
        counting.write(*LINES, f"line {number}")
    counting.broker.kill9()
    counting.broker.start()
    counting.write("after the kill")
    counting.check(first)

    second.start()
    wait_until(
        lambda: len(counting.shares()) == 2 and min(counting.shares()) >= 2,
        what="both instances have work",
        within_s=COUNTED_WITHIN_S,
    )
    counting.write("work for two", *LINES)
    counting.check(first, second)

    first.stop()
    second.stop()
    first.forget_state()
    counting.forget()
    counting.write(*counting.written)  # every word once more, so that each has a new count
    first.start()
    counting.check(first)
    first.stop()

    check_reset(counting)
    first.forget_state()
    counting.forget()
    first.start()
    counting.check(first)


def check_internal_topics(counting: Counting) -> None:
    """As Streams wants them: partitions like the input's, one kept for ever by key, one kept until it is read."""
    changelog, repartition = counting.internal_topics()
    assert changelog.endswith("-changelog")
    assert repartition.endswith("-repartition")
    with counting.client() as client:
        assert [len(topic.partitions) for topic in client.metadata(changelog, repartition).topics] == [PARTITIONS] * 2
    kept, passing = counting.configs(changelog), counting.configs(repartition)
    assert kept == {"cleanup.policy": "compact", "message.timestamp.type": "CreateTime"}
    assert passing == {
        "cleanup.policy": "delete",
        "message.timestamp.type": "CreateTime",
        "retention.ms": "-1",
        "segment.bytes": "52428800",
    }


def check_reset(counting: Counting) -> None:
    """Kafka's own tool begins an application anew: offsets at the start, internal topics gone."""
    wait_until(lambda: not counting.shares(), what="the group is empty")
    printed = run_tool(
        "StreamsResetter", "--bootstrap-server", counting.broker.bootstrap,
        "--application-id", APPLICATION, "--input-topics", INPUT,
    )  # fmt: skip
    assert "Done." in printed, printed
    wait_until(lambda: not counting.internal_topics(), what="the internal topics are gone")
    with counting.client() as client:
        offsets = [committed_offset(committed(client, APPLICATION, INPUT, index)) for index in range(PARTITIONS)]
    assert offsets == [0] * PARTITIONS


def committed_offset(answer: Any) -> int:
    return int(answer.committed_offset)
