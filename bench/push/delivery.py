"""The push door from outside: how fast one consumer is served, how soon after its publication a message is there.

When the consumer has gone the broker is asked for its position: a figure counts only if every message is acknowledged.
"""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Final

from bench.pump import Lane, pump_count
from bench.push.bodies import body
from bench.push.children import child
from bench.push.redis_server import RedisServer
from bench.rivals import HOST, Penstock
from bench.spread import Figures
from bench.wire import Address, create_topic, produce_frame
from penstock import BrokerClient
from penstock.client.address import Address as Endpoint
from penstock.client.cluster import Cluster
from penstock.client.offsets import committed_offsets
from penstock.model.topic_partition import TopicPartition

CONSUMER, PUBLISHER = "bench.push.consumer", "bench.push.publisher"
BATCH_MESSAGES: Final = 100
LATENCY_RATE: Final = 500
NO_PAUSE: Final = math.inf
COMMIT_SECONDS: Final = 10.0


def fill(address: Address, topic: str, messages: int) -> None:
    """As an ordinary producer would."""
    create_topic(address, topic)
    lane = Lane(address, topic, [produce_frame(topic, 0, BATCH_MESSAGES, 100)], 5)
    pump_count(lane, messages // BATCH_MESSAGES)
    lane.close()


def make_topics(port: int, *names: str) -> None:
    """Empty ones: `create_topic` of the other works leaves a record behind."""
    with BrokerClient(HOST, port) as client:
        for name in names:
            client.create_topic(name)


def deliver(broker: Penstock, messages: int, topic: str = "stock") -> Figures:
    """Delivery of stored messages to one consumer that acknowledges every message."""
    fill(broker.address, topic, messages)
    return _consumed("penstock", broker.address[1], topic, messages)


def deliver_redis(server: RedisServer, messages: int) -> Figures:
    server.fill("stock", [body()] * messages)
    return _consumed("redis", server.port, "stock", messages)


def _consumed(kind: str, port: int, name: str, messages: int) -> Figures:
    with child(CONSUMER, kind, HOST, port, name, messages) as consumer:
        consumer.hear()
        found = consumer.hear()
    _check_acknowledged(kind, port, name, messages)
    return {"messages_per_s": found["messages_per_s"]}


def publish(broker: Penstock, messages: int, topic: str = "news", rate: float = LATENCY_RATE) -> Figures:
    make_topics(broker.address[1], topic)
    return _published("penstock", broker.address[1], broker.address[1], topic, messages, rate)


def publish_redis(server: RedisServer, messages: int, rate: float = LATENCY_RATE) -> Figures:
    return _published("redis", server.port, server.port, "news", messages, rate)


def through_levels(directory: Path, messages: int, rate: float) -> Figures:
    """Published at the root, consumed three levels down, on disk at each."""
    brokers: list[Penstock] = []
    try:
        for level in range(4):
            parent = {"pipe.parent_url": brokers[-1].http_url} if brokers else {}
            brokers.append(Penstock(directory / f"level-{level}", **parent))
            brokers[-1].start()
        make_topics(brokers[0].address[1], "prices")
        top, bottom = (broker.address[1] for broker in (brokers[0], brokers[-1]))
        return _published("penstock", top, bottom, "prices", messages, rate)
    finally:
        for broker in reversed(brokers):
            broker.stop()


def _published(kind: str, to_port: int, from_port: int, name: str, messages: int, rate: float) -> Figures:
    with child(CONSUMER, kind, HOST, from_port, name, messages) as consumer:
        consumer.hear()
        with child(PUBLISHER, kind, HOST, to_port, name, messages, rate) as publisher:
            publisher.hear()
            found = consumer.hear()
    _check_acknowledged(kind, from_port, name, messages)
    return {key: found[key] for key in ("p50_ms", "p99_ms", "messages_per_s")}


def _check_acknowledged(kind: str, port: int, name: str, messages: int) -> None:
    """Positions are committed a moment after the last ACK."""
    if kind != "penstock":
        return
    deadline = time.monotonic() + COMMIT_SECONDS
    with Cluster([Endpoint(HOST, port)]) as cluster:
        while (position := committed_offsets(cluster, name).get(TopicPartition(name, 0), 0)) < messages:
            if time.monotonic() > deadline:
                raise RuntimeError(f"{position:,} of {messages:,} messages are acknowledged")
            time.sleep(0.05)
