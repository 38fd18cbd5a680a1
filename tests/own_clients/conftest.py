"""One secured broker of each kind for the whole run. Apache Kafka comes from `make compat-setup`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command_line import CommandLine, Outcome
from tests.support.sasl_kafka import SecuredKafka
from tests.support.secured_broker import SecuredBroker, SecuredPenstock


@pytest.fixture(scope="session", params=["penstock", pytest.param("kafka", marks=pytest.mark.compat)])
def broker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    directory = tmp_path_factory.mktemp(f"secured-{request.param}")
    process = SecuredPenstock(directory) if request.param == "penstock" else SecuredKafka(directory)
    process.prepare()
    process.start()
    yield process.secured
    process.stop()


class Commands:
    """Runs `penstock` with properties in a file, as users of secured brokers do."""

    def __init__(self, broker: SecuredBroker, directory: Path) -> None:
        self._broker = broker
        self._file = directory / "client.properties"

    def __call__(
        self, properties: dict[str, str], listener: str, *args: object, stdin: str = "", code: int = 0
    ) -> Outcome:
        self._file.touch(0o600)
        self._file.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
        run = CommandLine(self._broker.address(listener))
        return run(*args, "--command-config", self._file, stdin=stdin, code=code)


@pytest.fixture
def penstock(broker: SecuredBroker, tmp_path: Path) -> Commands:
    return Commands(broker, tmp_path)
