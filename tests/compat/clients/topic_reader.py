"""All of a topic as confluent-kafka shows it to a reader of one isolation level."""

from confluent_kafka import Consumer, KafkaError, TopicPartition

from tests.compat.clients.message import DEADLINE_S
from tests.support.waiting import wait_until


class TopicReader:
    """Reads all partitions of a topic from the start, as an ordinary client of one isolation level."""

    def __init__(self, bootstrap: str, topic: str, isolation: str, *, partitions: int = 1) -> None:
        self.found: list[tuple[bytes, bytes]] = []
        """Keys and values, in the order of each partition."""
        self._partitions = partitions
        self.ended: set[int] = set()
        """The partitions whose end it has seen."""
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "nobody",
                "isolation.level": isolation,
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "reconnect.backoff.max.ms": 500,
            }
        )
        self._consumer.assign([TopicPartition(topic, index, 0) for index in range(partitions)])

    def read(self) -> list[tuple[bytes, bytes]]:
        """Everything that was read so far, and some more."""
        for record in self._consumer.consume(1_000, 0.05):
            error = record.error()
            if error is None:
                key, value = record.key(), record.value()
                assert isinstance(key, bytes)
                assert isinstance(value, bytes)
                self.found.append((key, value))
            elif error.code() == KafkaError._PARTITION_EOF:
                partition = record.partition()
                assert partition is not None
                self.ended.add(partition)
        return self.found

    def read_to_the_end(self) -> list[tuple[bytes, bytes]]:
        """All of the topic; the reader is closed then."""

        def at_the_end() -> bool:
            self.read()
            return len(self.ended) == self._partitions

        wait_until(at_the_end, what="the topic is read to its end", within_s=DEADLINE_S)
        self.close()
        return self.found

    def close(self) -> None:
        self._consumer.close()
