"""Quotas between the store and the meters: what is loaded counts, what fails to be stored does not."""

from collections.abc import Iterator

import pytest

from penstock.broker.quotas.entity import CONNECTION_CREATION_RATE, PRODUCER_BYTE_RATE, make_entity
from penstock.broker.quotas.quota_table import Alteration
from penstock.broker.quotas.quotas import Quotas
from penstock.model.errors import ErrorCode
from penstock.testing.clock import ManualClock
from tests.support.admin_broker import AdminBroker

pytestmark = pytest.mark.feature("F-01")

APP = make_entity([("client-id", "app")])
HOST = make_entity([("ip", "localhost")])


@pytest.fixture
def node() -> Iterator[AdminBroker]:
    with AdminBroker() as node:
        yield node


def loaded(node: AdminBroker) -> Quotas:
    """The quotas after another start of the same node."""
    quotas = node.broker.quotas
    again = Quotas(store=node.store.quotas, commands=node.controller.commands, clock=ManualClock(), probe=quotas.probe)
    again.load()
    return again


def test_what_is_loaded_counts(node: AdminBroker) -> None:
    assert node.run(node.broker.quotas.alter([Alteration(APP, [(PRODUCER_BYTE_RATE, 5.0)])])) == {APP: None}
    again = loaded(node)
    assert len(again) == 1
    assert again.limits_clients
    meter = again.produce.of(("ANONYMOUS", "app"), 0)
    assert meter is not None
    assert meter.limit == 5.0


def test_hosts_are_looked_up_again(node: AdminBroker) -> None:
    assert node.run(node.broker.quotas.alter([Alteration(HOST, [(CONNECTION_CREATION_RATE, 1.0)])])) == {HOST: None}
    assert node.broker.quotas.addresses
    again = loaded(node)
    assert not again.addresses
    node.run(again.resolve_names())
    assert again.addresses
    node.run(again.alter([Alteration(HOST, [(CONNECTION_CREATION_RATE, None)])]))
    assert not again.addresses


def test_every_listener_is_called(node: AdminBroker) -> None:
    quotas = node.broker.quotas
    seen: list[bool] = []
    also: list[bool] = []
    quotas.subscribe(lambda: seen.append(quotas.limits_clients))
    quotas.subscribe(lambda: also.append(quotas.limits_clients))
    node.run(quotas.alter([Alteration(APP, [(PRODUCER_BYTE_RATE, 5.0)])]))
    node.run(quotas.alter([Alteration(APP, [(PRODUCER_BYTE_RATE, 6.0)])], validate_only=True))
    node.run(quotas.alter([Alteration(APP, [(PRODUCER_BYTE_RATE, None)])]))
    assert seen == also == [True, False]


def test_what_cannot_be_stored_does_not_count(node: AdminBroker) -> None:
    node.store.database.connection.execute("PRAGMA query_only = ON")
    entry = {
        "entity": [{"entity_type": "client-id", "entity_name": "app"}],
        "ops": [{"key": PRODUCER_BYTE_RATE, "value": 5.0, "remove": False}],
    }
    (result,) = node.call("alter_client_quotas", 1, entries=[entry], validate_only=False).entries
    assert result.error_code.value == ErrorCode.KAFKA_STORAGE_ERROR
    assert "readonly" in result.error_message
    assert not node.broker.quotas.limits_clients


def test_there_is_a_limit_on_entities(node: AdminBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.broker.quotas.quota_table.QUOTA_ENTITIES_MAX", 2)
    wanted = [Alteration(make_entity([("user", f"u{n}")]), [(PRODUCER_BYTE_RATE, 5.0)]) for n in range(3)]
    results = list(node.run(node.broker.quotas.alter(wanted)).values())
    assert results[:2] == [None, None]
    assert results[2] is not None
    assert results[2].code is ErrorCode.POLICY_VIOLATION
    assert len(node.broker.quotas) == 2
