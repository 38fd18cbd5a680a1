"""Idempotent producers: sequences in order, with gaps, repeated, too old, overlapping; epochs; several partitions."""

from typing import Any

from tests.differential.peer import Answer, Peer
from tests.differential.script import script
from tests.differential.steps.topics import T0, create, delete_records, fetch, list_offset, produce, produce_body
from tests.support.batches import Record, batch

LAST_SEQUENCE = 2**31 - 1


class Producer:
    """A producer that says exactly what it is told to, sequences and all."""

    def __init__(self, peer: Peer, topic: str, *, at: int = T0) -> None:
        self._peer, self.topic, self._at = peer, topic, at
        self.id = int(init(peer)["producer_id"])

    def batch(self, sequence: int, count: int = 1, *, epoch: int = 0, **overrides: Any) -> bytes:
        records = [
            Record(value=f"{epoch}/{sequence + index}".encode(), timestamp_ms=self._at) for index in range(count)
        ]
        values = {"producer_id": self.id, "producer_epoch": epoch, "base_sequence": sequence, **overrides}
        return batch(records, **values)

    def send(self, sequence: int, count: int = 1, *, epoch: int = 0, version: int = 9, **more: Any) -> Answer:
        partition = more.pop("partition", 0)
        data = self.batch(sequence, count, epoch=epoch, **more)
        label = f"sequence {sequence}+{count} epoch {epoch}"
        return produce(self._peer, self.topic, data, partition=partition, version=version, label=label)


def init(peer: Peer, version: int = 4, **more: Any) -> Answer:
    body = {"transactional_id": None, "transaction_timeout": 60_000, "producer_id": -1, "producer_epoch": -1, **more}
    return peer.ask("init_producer_id", version, body)


def active(peer: Peer, topic: str, *partitions: int) -> None:
    """The broker's memory of producers."""
    peer.ask("describe_producers", 0, {"topics": [{"name": topic, "partition_indexes": list(partitions or (0,))}]})


@script("idempotent-sequences", seconds=2, family="idempotence")
def sequences(peer: Peer) -> None:
    """In order, a gap, repeats of each of the last five, older ones, and partial overlaps."""
    for version in (3, 7, 8, 9, 12):
        producer = Producer(peer, create(peer, f"sequences-{version}"))
        first = producer.send(0, 3, version=version)
        assert first["responses"][0]["partition_responses"][0]["base_offset"] == 0
        producer.send(3, version=version)
        producer.send(5, version=version)  # a gap
        producer.send(4, 2, version=version)
        for sequence in range(6, 10):
            producer.send(sequence, version=version)
        for sequence, count in ((9, 1), (8, 1), (7, 1), (6, 1), (4, 2), (3, 1), (0, 3)):
            producer.send(sequence, count, version=version)
        producer.send(4, 1, version=version)  # parts of what is there
        producer.send(5, 1, version=version)
        producer.send(4, 3, version=version)
        producer.send(9, 2, version=version)
        producer.send(10, 2, version=version)
        producer.send(20, version=version)
        producer.send(0, version=version)
        list_offset(peer, producer.topic, -1)
        active(peer, producer.topic)
    fetch(peer, producer.topic, 0)


@script("idempotent-first-sequence", seconds=2, family="idempotence")
def first_sequence(peer: Peer) -> None:
    """A producer that nobody knows may begin anywhere."""
    topic = create(peer, "first", partitions=4)
    for partition, sequence in enumerate((0, 1, 1000, LAST_SEQUENCE)):
        producer = Producer(peer, topic)
        producer.send(sequence, partition=partition)
        producer.send(sequence, partition=partition)
        producer.send(sequence + 1 if sequence < LAST_SEQUENCE else 0, partition=partition)
        producer.send(0, partition=partition)
        active(peer, topic, partition)


@script("idempotent-epochs", seconds=2, family="idempotence")
def epochs(peer: Peer) -> None:
    """A higher epoch begins at 0, an older one is fenced, and a skipped one is fine."""
    producer = Producer(peer, create(peer, "epochs"))
    producer.send(0)
    producer.send(1)
    producer.send(2, epoch=1)  # a new epoch does not go on
    producer.send(1, epoch=1)
    producer.send(0, epoch=1)
    producer.send(2)  # the old one
    producer.send(0)
    producer.send(1)
    producer.send(1, epoch=1)
    producer.send(0, epoch=1)
    producer.send(0, epoch=7)
    producer.send(0, epoch=1)
    producer.send(0, epoch=2)
    producer.send(1, epoch=7)
    producer.send(0, epoch=32767)
    producer.send(1, epoch=32767)
    producer.send(0, epoch=0)
    active(peer, producer.topic)
    fetch(peer, producer.topic, 0)


@script("idempotent-wrap", seconds=2, family="idempotence")
def wrap(peer: Peer) -> None:
    """Sequences begin again at 0 after 2^31 - 1, also inside a batch."""
    topic = create(peer, "wrap", partitions=3)
    whole, inside, wrong = (Producer(peer, topic) for _ in range(3))
    whole.send(LAST_SEQUENCE - 1, 2)
    whole.send(0)
    whole.send(1)
    whole.send(LAST_SEQUENCE - 1, 2)
    inside.send(LAST_SEQUENCE - 1, 4, partition=1)
    inside.send(1, partition=1)
    inside.send(2, partition=1)
    inside.send(LAST_SEQUENCE - 1, 4, partition=1)
    inside.send(2, partition=1)
    wrong.send(LAST_SEQUENCE, partition=2)
    wrong.send(1, partition=2)
    wrong.send(0, partition=2)
    for partition in range(3):
        active(peer, topic, partition)
        fetch(peer, topic, 0, partition=partition)


@script("idempotent-partitions", seconds=2, family="idempotence")
def partitions(peer: Peer) -> None:
    """Sequences are counted for each partition, and one partition's error is its own."""
    topic = create(peer, "partitions", partitions=3)
    producer = Producer(peer, topic)

    def send(**sequences: int) -> None:
        parts = {int(name[1:]): producer.batch(sequence) for name, sequence in sequences.items()}
        peer.ask("produce", 9, produce_body(topic, parts))

    send(p0=0, p1=0)
    send(p0=1, p1=0, p2=0)
    send(p0=2, p1=5, p2=1)
    send(p2=2, p1=1, p0=1)
    send(p1=2, p7=0)
    for partition in range(3):
        list_offset(peer, topic, -1, partition=partition)
    active(peer, topic, 0, 1, 2, 7)
    active(peer, peer.name("missing"), 0)


@script("idempotent-two-producers", seconds=1, family="idempotence")
def two_producers(peer: Peer) -> None:
    """Two producers in one partition do not disturb each other."""
    topic = create(peer, "two")
    one, two = Producer(peer, topic), Producer(peer, topic)
    one.send(0)
    two.send(0)
    two.send(1)
    one.send(0)
    one.send(2)
    one.send(1)
    two.send(0)
    fetch(peer, topic, 0)


@script("idempotent-deleted-records", seconds=2, family="idempotence")
def deleted_records(peer: Peer) -> None:
    """Producers are remembered when their records are gone."""
    topic = create(peer, "deleted")
    producer = Producer(peer, topic)
    for sequence in range(4):
        producer.send(sequence)
    delete_records(peer, topic, 3)
    producer.send(3)
    producer.send(0)
    producer.send(5)
    delete_records(peer, topic, 4)
    producer.send(3)
    producer.send(2)
    producer.send(7)
    producer.send(4)
    active(peer, topic)
    fetch(peer, topic, 0)
    fetch(peer, topic, 4)


@script("idempotent-malformed", seconds=1, family="idempotence")
def malformed(peer: Peer) -> None:
    """Producer fields that do not go together."""
    topic = create(peer, "malformed")
    producer = Producer(peer, topic)
    producer.send(-1)
    producer.send(0, producer_id=-1, producer_epoch=-1, base_sequence=0)
    producer.send(0, producer_id=-1, producer_epoch=0, base_sequence=-1)
    producer.send(0, producer_id=-2)
    producer.send(-2)
    producer.send(0, attributes=0x10)
    producer.send(0, attributes=0x20)
    producer.send(0)
    list_offset(peer, topic, -1)
    active(peer, topic)


@script("idempotent-unknown-producers", seconds=1, family="idempotence")
def unknown_producers(peer: Peer) -> None:
    """A producer id that nobody gave out is as good as any other."""
    topic = create(peer, "unknown")
    producer = Producer(peer, topic)
    producer.send(0, producer_id=987_654_321)
    producer.send(1, producer_id=987_654_321)
    producer.send(5, producer_id=987_654_321)
    producer.send(3, producer_id=987_654_322, epoch=9)
    active(peer, topic)


@script("init-producer-id", seconds=1, family="idempotence")
def init_producer_id(peer: Peer) -> None:
    """InitProducerId without a transactional id: a new id each time, whatever else the request says."""
    for version in range(6):
        init(peer, version)
        init(peer, version, transaction_timeout=0)
        init(peer, version, transaction_timeout=-5)
    given = init(peer)["producer_id"]
    for version in (3, 4, 5):
        init(peer, version, producer_id=given, producer_epoch=0)
        init(peer, version, producer_id=given, producer_epoch=5)
        init(peer, version, producer_id=given, producer_epoch=-1)
        init(peer, version, producer_id=-1, producer_epoch=3)
        init(peer, version, producer_id=-7, producer_epoch=0)
        init(peer, version, producer_id=999_999_999, producer_epoch=0)
        init(peer, version, producer_id=given, producer_epoch=32767)
        init(peer, version, transactional_id="")
