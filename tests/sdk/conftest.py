"""The SDK against a real broker: Penstock, or with PENSTOCK_TEST_TARGET=kafka Apache Kafka."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest

from penstock import Admin
from tests.support.broker_process import BrokerProcess
from tests.support.fixtures import RunningBroker, make_broker, own_broker, running, target_kind
from tests.support.raw_client import unique_name

__all__ = ["own_broker"]

SESSION_TIMEOUT_MS = 1_500
"""Sessions are short: a group waits for the end of the session of a member that is gone."""

NewTopic = Callable[..., str]


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """One that lets sessions be short."""
    directory = tmp_path_factory.mktemp("broker")
    address = os.environ.get("PENSTOCK_TEST_BOOTSTRAP")
    if address:
        yield RunningBroker(directory, target_kind(), address)
    else:
        yield from running(make_broker(directory, session_timeout_min_ms=1_000))


@pytest.fixture
def bootstrap(broker: BrokerProcess) -> str:
    return broker.bootstrap


@pytest.fixture
def admin(bootstrap: str) -> Iterator[Admin]:
    with Admin(bootstrap) as client:
        yield client


@pytest.fixture
def new_topic(admin: Admin) -> NewTopic:
    """`new_topic(partitions=3)`: a fresh one."""

    def create(partitions: int = 1, **config: object) -> str:
        name = unique_name("sdk")
        admin.create_topic(name, partitions=partitions, config=config)
        return name

    return create


@pytest.fixture
def group() -> str:
    return unique_name("group")
