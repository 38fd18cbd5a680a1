"""The secured broker of a module, and the clients; the programs of other languages are built once for a run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.compat.secured.aio import Aiokafka
from tests.compat.secured.client import SecuredClient
from tests.compat.secured.franz import FranzGo, why_not
from tests.compat.secured.java import JavaClient
from tests.compat.secured.kafka_python import KafkaPython
from tests.compat.secured.kafkajs import KafkaJs
from tests.compat.secured.librdkafka import Librdkafka
from tests.support.fixtures import target_kind
from tests.support.made_once import made_once
from tests.support.sasl_kafka import SecuredKafka
from tests.support.secured_broker import SecuredBroker, SecuredPenstock

NAMES = ("librdkafka", "java", "aiokafka", "kafka-python", "kafkajs", "franz-go")


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    directory = tmp_path_factory.mktemp("secured")
    process = SecuredKafka(directory) if target_kind() == "kafka" else SecuredPenstock(directory)
    process.prepare()
    process.start()
    yield process.secured
    process.stop()


@pytest.fixture(scope="session", params=NAMES)
def client(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> SecuredClient:
    in_python: dict[str, type[SecuredClient]] = {
        each.name: each for each in (Librdkafka, Aiokafka, KafkaPython, KafkaJs)
    }
    if request.param in in_python:
        return in_python[request.param]()
    if request.param == "java":
        return JavaClient(made_once(tmp_path_factory, "secured-java", lambda path: JavaClient(path).compile()))
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)

    def build(path: Path) -> None:
        path.mkdir()
        FranzGo(path).build()

    return FranzGo(made_once(tmp_path_factory, "secured-go", build))
