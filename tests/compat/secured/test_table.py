"""Every client at every kind of listener: it logs in, writes, reads in a group, and is told what it may not do.

| | SSL | mutual TLS | PLAIN | SCRAM-SHA-256 | SCRAM-SHA-512 |
|---|---|---|---|---|---|
| librdkafka, Java, aiokafka, kafka-python, kafkajs, franz-go | yes | yes | yes | yes | yes |

Each login is over SASL_PLAINTEXT and over SASL_SSL. There is no cell that a client cannot do.
`PENSTOCK_TEST_TARGET=kafka` runs the control.
"""

from __future__ import annotations

import pytest

from tests.compat.secured.client import Door, SecuredClient
from tests.support.raw_client import unique_name
from tests.support.secured_broker import MECHANISMS, OPEN, SecuredBroker

pytestmark = pytest.mark.feature("F-03", "F-04")

CELLS = [
    ("TLS", None),
    ("MUTUAL", None),
    *((listener, mechanism) for listener in ("LOGIN", "BOTH") for mechanism in MECHANISMS),
]
VALUES = [f"message-{number}" for number in range(100)]


@pytest.mark.parametrize(("listener", "mechanism"), CELLS)
def test_a_client_writes_reads_and_is_denied(
    broker: SecuredBroker, client: SecuredClient, listener: str, mechanism: str | None
) -> None:
    topic, closed, group = broker.new_topic(), broker.new_topic(is_open=False), unique_name(OPEN)
    found, refusal = client.exchange(Door(broker, listener, mechanism), topic, closed, group, VALUES)
    assert found == VALUES
    assert refusal == client.denied
    with broker.as_admin() as admin:
        assert admin.log_end(topic) == len(VALUES)
        assert admin.log_end(closed) == 0


@pytest.mark.parametrize("listener", ["STRANGER", "MISNAMED"])
def test_a_client_does_not_trust_every_certificate(broker: SecuredBroker, client: SecuredClient, listener: str) -> None:
    """One of another authority, and one for another host; none of them is told to verify names."""
    told = client.distrust(Door(broker, listener))
    assert client.distrusts[listener == "MISNAMED"] in told
