"""The two brokers that a suite runs against: Apache Kafka, the control, and Penstock; fresh for every run."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.suites.suite import BrokerNeeds, Target
from tests.support.broker_process import BrokerProcess, free_port
from tests.support.kafka_process import KafkaProcess
from tests.support.penstock_process import PenstockProcess
from tests.support.raw_client import RawClient

KINDS = ("kafka", "penstock")
# What Kafka is told in its own words, or does anyway: with a replication factor that is too high.
SAME_AS_CONTROL = """node:
  id: {needs.node_id}
kafka:
  advertised: {address}
topics:
  default_partitions: {needs.partitions}
  strict_replication_factor: true
groups:
  initial_rebalance_delay_ms: {needs.rebalance_delay_ms}
  session_timeout_min_ms: {needs.session_timeout_min_ms}
"""


class PortTaken(RuntimeError):
    """A suite's tests need one fixed port, and another process listens there."""


@contextmanager
def running(kind: str, needs: BrokerNeeds, directory: Path) -> Iterator[Target]:
    """A broker of this kind as the suite needs it, and what a run must know of it."""
    if needs.port is not None:
        _must_be_free(needs.port)
    broker = _broker(kind, needs, needs.port or free_port(), directory / "broker")
    broker.prepare()
    broker.start()
    try:
        with RawClient(broker.host, broker.port) as client:
            for topic in needs.topics:
                client.create_topic(topic)
        yield Target(kind=kind, host=needs.host, port=broker.port, directory=directory)
    finally:
        broker.stop()


def _broker(kind: str, needs: BrokerNeeds, port: int, directory: Path) -> BrokerProcess:
    broker: BrokerProcess
    if kind == "kafka":
        settings = {
            "group.initial.rebalance.delay.ms": str(needs.rebalance_delay_ms),
            "group.min.session.timeout.ms": str(needs.session_timeout_min_ms),
            "num.partitions": str(needs.partitions),
            # Kafka's default: tests write records with old timestamps and want to read them before they expire.
            "log.retention.check.interval.ms": "300000",
        }
        broker = KafkaProcess(directory, settings, node_id=needs.node_id, advertised_host=needs.host)
    else:
        broker = PenstockProcess(directory, SAME_AS_CONTROL.format(needs=needs, address=f"{needs.host}:{port}"))
    broker.port = port
    return broker


def _must_be_free(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise PortTaken(f"port {port} is in use, and the tests of this suite know no other") from error
