"""Facts run through raw frames against one broker for the whole run; see `tests/support/fixtures.py`."""

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
