"""CONSUMER_TYPE=price: checks that a message is a price, and keeps the last price of each symbol for /stats.

    {"symbol": "AAPL", "price": 227.5, …}     the symbol may be the message's key instead

A message that is not a price is stored like all others, and goes to the dead-letter topic.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, Field, FiniteFloat, ValidationError

from penstock.client.push.message import Message
from penstock.consumers.decorators import consumer, message_handler
from penstock.consumers.errors import PayloadError

SYMBOLS_MAX = 10_000
"""More are stored and handled, but not shown."""


class Price(BaseModel):
    symbol: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    price: Annotated[FiniteFloat, Field(gt=0)]


class LastPrice(NamedTuple):
    price: float
    timestamp: int
    partition: int
    offset: int

    def is_after(self, other: LastPrice) -> bool:
        """Compare by the order of the source; between partitions, by time."""
        if self.partition == other.partition:
            return self.offset > other.offset
        return self.timestamp >= other.timestamp


@consumer(topic="price-topic", group="price-group")
class Prices:
    def __init__(self) -> None:
        self._last: dict[str, LastPrice] = {}

    @message_handler
    async def handle(self, price: Price, message: Message) -> None:
        symbol = price.symbol or (message.key or b"").decode("utf-8", "replace")
        if not symbol:
            raise PayloadError("a price without a symbol: it has none, and the message has no key")
        last = LastPrice(price.price, message.timestamp, message.partition, message.sequence_number)
        known = self._last.get(symbol)
        if (known is None and len(self._last) < SYMBOLS_MAX) or (known is not None and last.is_after(known)):
            self._last[symbol] = last

    async def restore(self, messages: Iterable[Message]) -> None:
        """Start over from the stored messages."""
        self._last.clear()
        for message in messages:
            try:
                await self.handle(Price.model_validate_json(message.body or b""), message)
            except (ValidationError, PayloadError):
                continue  # its dead letter was written when it came

    def stats(self) -> dict[str, Any]:
        prices = {
            symbol: {"price": last.price, "timestamp": last.timestamp} for symbol, last in sorted(self._last.items())
        }
        return {"symbols": len(prices), "prices": prices}
