"""Real clients, unmodified, against one broker for the whole run; see `tests/support/fixtures.py`.

The parts come from `setup.sh` beside this file (`make compat-setup`).
"""

from pathlib import Path

import pytest

from tests.support.fixtures import (
    broker,
    client,
    connect,
    kafka_only,
    on_penstock,
    own_broker,
    penstock_only,
    topic,
)

__all__ = ["broker", "client", "connect", "kafka_only", "on_penstock", "own_broker", "penstock_only", "topic"]

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.compat)


@pytest.fixture(scope="session", autouse=True)
def parts() -> None:
    """Fail at once, with the fix, when the real parts are not there."""
    for path in (".cache/kafka", ".cache/streams", "node_modules/kafkajs"):
        assert (HERE / path).exists(), f"tests/compat/{path} is missing: run `make compat-setup`"
