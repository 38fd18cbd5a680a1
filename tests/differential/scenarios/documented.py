"""Differences in docs/compatibility.md that no other script covers: a step for each such line."""

from tests.differential.peer import Peer
from tests.differential.script import script
from tests.differential.steps.configs import (
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    GROUP,
    SET,
    TOPIC,
    change,
    describe_configs,
)
from tests.differential.steps.topics import T0, create, fetch, list_offset, produce, values
from tests.support.batches import Record, batch

NODE = "1"


@script("documented-produce", seconds=2, family="documented")
def documented_produce(peer: Peer) -> None:
    """Batches on whose records or bytes only one of the two looks."""
    topic = create(peer, "plain")
    produce(peer, topic, values("x") + bytes(5), label="bytes after the batch")
    body = values("x", producer_id=4_000, producer_epoch=-1, base_sequence=0)
    produce(peer, topic, body, label="a producer without an epoch")
    produce(peer, create(peer, "broken"), values("x", body=b"\xff" * 20), label="records that are no records")
    recent = peer.topic("recent", configs={"message.timestamp.before.max.ms": "600000"})
    times = [Record(timestamp_ms=peer.time(each)) for each in (0, -3_600_000)]
    produce(peer, recent, batch(times), label="the second is too old")
    corrected = create(peer, "corrected")
    produce(peer, corrected, values("x", max_timestamp_ms=T0 + 5), label="a maximum that no record has")
    fetch(peer, corrected, 0, label="the maximum that is stored")
    list_offset(peer, corrected, -3)


@script("documented-topics", seconds=1, family="documented")
def documented_topics(peer: Peer) -> None:
    names = (peer.name("a.b"), peer.name("a_b"))
    new = {"num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}
    body = {"topics": [{"name": name, **new} for name in names], "timeout": 10_000, "validate_only": False}
    peer.ask("create_topics", 4, body, label="names that collide")
    grown = {"name": "__consumer_offsets", "count": 6, "assignments": None}
    body = {"topics": [grown], "timeout": 10_000, "validate_only": True}
    peer.ask("create_partitions", 3, body, label="an internal topic")


@script("documented-configs", seconds=2, family="documented", own_broker=True)
def documented_configs(peer: Peer) -> None:
    """Configs that mean something to one of the two only."""
    change(peer, BROKER, NODE, [("log.cleaner.threads", SET, "2")])
    change(peer, BROKER_LOGGER, NODE, [("root", SET, "WARN")])
    describe_configs(peer, BROKER_LOGGER, NODE, ["root"], synonyms=False)
    subscription = peer.name("subscription")
    change(peer, CLIENT_METRICS, subscription, [("match", SET, r"client_id=(a)\1")])
    for kind, name in ((CLIENT_METRICS, subscription), (TOPIC, create(peer, "t")), (BROKER, NODE), (GROUP, "g")):
        change(peer, kind, name, [("no.such.config", 9, "a")])
