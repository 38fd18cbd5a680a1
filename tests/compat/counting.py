"""The input of a word count with Kafka Streams, and the application's output."""

import collections
import struct
from collections.abc import Iterator
from contextlib import contextmanager

from tests.compat.clients.streams import APPLICATION, INPUT, OUTPUT, WordCount
from tests.support.batches import Record, batch
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient
from tests.support.waiting import DeadlinePassed, wait_until

PARTITIONS = 3
LINES = ("all streams lead to kafka", "hello kafka streams", "join kafka summit")
COUNTED_WITHIN_S = 60.0


class Counting:
    """The topics of the word count, what was written to them, and what came out."""

    def __init__(self, broker: BrokerProcess) -> None:
        self.broker = broker
        self.written: collections.Counter[str] = collections.Counter()
        self._counts: dict[str, int] = {}
        self._read_to = 0
        with self.client() as client:
            client.create_topic(INPUT, partitions=PARTITIONS)
            client.create_topic(OUTPUT)

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
        """Forget the counts so far: only later ones matter."""
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
