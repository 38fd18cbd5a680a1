"""Producers, consumers and admin clients of the SDK, for threads and for asyncio."""

from __future__ import annotations

import asyncio

import pytest

from penstock import Admin, AsyncAdmin, AsyncConsumer, AsyncProducer, Consumer, Producer
from penstock.sdk import NotAllowed, NotFound
from tests.support.raw_client import unique_name
from tests.support.secured_broker import OPEN, SecuredBroker
from tests.support.variants import variants

pytestmark = pytest.mark.feature("F-03", "F-04")

VALUES = [b"message %d" % number for number in range(50)]
CASES = [
    ("TLS", None),
    ("MUTUAL", None),
    *((listener, name) for listener in ("LOGIN", "BOTH") for name in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")),
]
QUICK = [("MUTUAL", None), ("BOTH", "SCRAM-SHA-512")]


@variants("listener,mechanism", CASES, quick=QUICK)
def test_threads(broker: SecuredBroker, listener: str, mechanism: str | None) -> None:
    config, where = broker.properties(listener, mechanism), broker.address(listener)
    topic, closed, group = broker.new_topic(), broker.new_topic(is_open=False), unique_name(OPEN)
    with Admin(where, config=config) as admin:
        assert topic in admin.list_topics()
        assert closed not in admin.list_topics()
        transactions = [each.transactional_id for each in admin.list_transactions()]  # of other tests: open to all, or
        assert all(each.startswith((OPEN, "penstock-")) for each in transactions)  # on Kafka, named in no rule
    with Producer(where, config=config, linger_ms=5) as producer:
        futures = [producer.send(topic, value) for value in VALUES]
        assert [future.result(60).offset for future in futures] == list(range(len(VALUES)))
        with pytest.raises(NotAllowed):
            producer.send(closed, b"no right").result(60)
    with Consumer(where, topic, group=group, config=config) as consumer:
        found = [next(iter(consumer)).value for _ in VALUES]
        consumer.commit()
    assert found == VALUES
    with Consumer(where, closed, group=group, config=config) as consumer, pytest.raises(NotAllowed):
        consumer.poll(60)
    with Admin(where, config=config) as admin:
        assert admin.describe_group(group).lag == 0
        with pytest.raises((NotAllowed, NotFound)):  # which of the two is not for everybody to know
            admin.describe_topic(closed)
        with pytest.raises(NotAllowed):
            admin.alter_topic_config(closed, {"retention.ms": 1})


@variants("listener,mechanism", CASES, quick=[("TLS", None)])
def test_asyncio_with_the_names_of_java(broker: SecuredBroker, listener: str, mechanism: str | None) -> None:
    config, where = broker.java_properties(listener, mechanism), broker.address(listener)
    topic, closed = broker.new_topic(), broker.new_topic(is_open=False)

    async def exchange() -> list[bytes | None]:
        async with AsyncAdmin(where, config=config) as admin:
            assert topic in await admin.list_topics()
        async with AsyncProducer(where, config=config, linger_ms=5) as producer:
            for value in VALUES:
                await producer.send(topic, value)
            with pytest.raises(NotAllowed):
                await producer.send(closed, b"no right")
        async with AsyncConsumer(where, topic, group=unique_name(OPEN), config=config) as consumer:
            return [(await anext(aiter(consumer))).value for _ in VALUES]

    assert asyncio.run(asyncio.wait_for(exchange(), 120)) == VALUES
