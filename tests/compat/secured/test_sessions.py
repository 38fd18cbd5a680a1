"""Sessions of five seconds under load: clients log in again, or connect again, and lose nothing."""

from __future__ import annotations

import json

import pytest

from tests.compat.secured.client import Door, SecuredClient
from tests.compat.secured.librdkafka import Librdkafka
from tests.support.raw_client import unique_name
from tests.support.secured_broker import OPEN, SESSION_MS, SecuredBroker
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("F-04", "F-20")

SECONDS = 13.0
SESSIONS = int(SECONDS * 1000 / SESSION_MS)
"""Sessions that end meanwhile, on each connection that is in use."""
MECHANISMS = {"librdkafka": "SCRAM-SHA-512", "java": "SCRAM-SHA-256"}


def test_nothing_is_lost_or_doubled_when_sessions_end(broker: SecuredBroker, client: SecuredClient) -> None:
    topic, group, user = broker.new_topic(), unique_name(OPEN), broker.new_user()
    door = Door(broker, "SHORT", MECHANISMS.get(client.name, "SCRAM-SHA-256"), user)
    sent, found = client.stream(door, topic, group, SECONDS)
    assert sent == [str(number) for number in range(len(sent))]
    assert len(sent) > 50
    assert _stored(broker, topic) == sent
    if client.logs_in_again:
        assert found == sent
    else:  # a member that comes back may get again what it has not committed
        assert set(found) == set(sent)
    if broker.kind == "penstock":
        logins = _logins(broker, user)
        connections = 2 if client.logs_in_again else 1  # at the least: of the producer and of the consumer
        assert len(logins) >= connections * (SESSIONS + 1), logins


def _stored(broker: SecuredBroker, topic: str) -> list[str]:
    """The topic as another client reads it, on a listener without an end of sessions."""
    with broker.as_admin() as admin:
        count = admin.log_end(topic)
    found: list[str] = []
    client = Librdkafka()
    consumer = client.reader(Door(broker, "LOGIN", "PLAIN"), topic, unique_name(OPEN))
    wait_until(lambda: len(client.read(consumer, found)) >= count, what="the topic is read")
    consumer.close()
    return found


def _logins(broker: SecuredBroker, user: str) -> list[dict[str, object]]:
    lines = [json.loads(line) for line in broker.process.log_file.read_text().splitlines()]
    return [line for line in lines if line["message"] == "login" and line["principal"] == f"User:{user}"]
