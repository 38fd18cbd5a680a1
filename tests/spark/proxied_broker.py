"""A broker behind a proxy that recognises the steps of a commit, for tests that kill at exactly one of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.spark.copying import CopyWorld
from tests.support.broker_process import BrokerProcess, free_port
from tests.support.fixtures import PENSTOCK_CONFIG, running, target_kind
from tests.support.kafka_process import KafkaProcess
from tests.support.penstock_process import PenstockProcess
from tests.support.step_proxy import StepProxy

PROXY_HOST = "127.0.0.3"
PATIENCE = {"kafka.default.api.timeout.ms": 60_000}


@pytest.fixture(scope="module")
def own_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """One that says that it is where the proxy is."""
    directory = tmp_path_factory.mktemp("broker")
    process: BrokerProcess
    if target_kind() == "kafka":
        process = KafkaProcess(directory, advertised_host=PROXY_HOST)
    else:
        port = free_port()
        process = PenstockProcess(directory, f"{PENSTOCK_CONFIG}kafka:\n  advertised: {PROXY_HOST}:{port}\n")
        process.port = port
    yield from running(process)


@pytest.fixture(scope="module")
def proxy(own_broker: BrokerProcess) -> Iterator[StepProxy]:
    made = StepProxy(PROXY_HOST, (own_broker.host, own_broker.port))
    yield made
    made.close()


def world_of(broker: BrokerProcess, directory: Path, **more: Any) -> CopyWorld:
    return CopyWorld(broker, directory, f"{PROXY_HOST}:{broker.port}", timeouts=PATIENCE, **more)
