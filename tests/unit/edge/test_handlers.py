"""Which handler modules there are, and what the one for prices makes of messages."""

from __future__ import annotations

import asyncio

import pytest

from penstock.consumers.errors import ConsumerError, PayloadError
from penstock.edge.handlers import as_message, find_handler
from penstock.edge.messages import Place, Stored

pytestmark = pytest.mark.feature("P-13")


def stored(offset: int, key: bytes | None, body: bytes | None, partition: int = 0, timestamp: int = 0) -> Stored:
    return Stored(offset, Place(partition, offset), timestamp, key, body, ())


def test_topic_and_group_are_those_of_the_application() -> None:
    mark = find_handler("price", "t", "g").definition.mark
    assert (mark.topic, mark.group, mark.delivery, mark.start) == ("t", "g", "message", "earliest")


def test_an_unknown_type_is_told_with_those_that_there_are() -> None:
    with pytest.raises(ConsumerError, match="no consumer type prize; there are plain, price"):
        find_handler("prize", "t", "g")


def test_the_last_price_is_the_last_of_its_source() -> None:
    handler = find_handler("price", "t", "g")
    found = [
        stored(5, b"AAPL", b'{"symbol": "AAPL", "price": 5}'),
        stored(3, b"AAPL", b'{"symbol": "AAPL", "price": 3}'),
        stored(9, b"GOOGL", b'{"price": 9.5}'),
        stored(1, None, b'{"price": 1}'),
        stored(2, b"MSFT", b"much"),
        stored(4, b"MSFT", None),
        stored(6, b"MSFT", b'{"price": -1}'),
        stored(0, b"AAPL", b'{"price": 7}', partition=1, timestamp=8),
    ]
    asyncio.run(handler.restore(found))
    stats = handler.stats()
    assert {symbol: last["price"] for symbol, last in stats["prices"].items()} == {"AAPL": 7, "GOOGL": 9.5}
    assert stats["symbols"] == 2
    asyncio.run(handler.restore([]))
    assert handler.stats()["prices"] == {}


def test_what_is_no_price_is_an_error() -> None:
    definition = find_handler("price", "t", "g").definition
    for body in (b"much", b'{"price": 0}', b'{"price": "x"}', b'{"price": 1e999}', b"[]", None):
        with pytest.raises(PayloadError):
            definition.arguments([as_message(stored(0, b"AAPL", body), "t", "g")])


def test_plain_has_nothing_to_tell() -> None:
    handler = find_handler("plain", "t", "g")
    assert handler.stats() == {}
    assert not handler.can_restore
