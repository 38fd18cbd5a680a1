"""The client against a real broker: Penstock, or with PENSTOCK_TEST_TARGET=kafka Apache Kafka."""

from collections.abc import Iterator

import pytest

from penstock.client.address import Address
from penstock.client.cluster import Cluster
from tests.support.broker_process import BrokerProcess
from tests.support.fixtures import broker, client, connect, own_broker, penstock_only, topic

__all__ = ["broker", "client", "cluster", "connect", "own_broker", "penstock_only", "topic"]


@pytest.fixture
def cluster(broker: BrokerProcess) -> Iterator[Cluster]:
    with Cluster([Address(broker.host, broker.port)], timeout_s=30) as made:
        yield made
