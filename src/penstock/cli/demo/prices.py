"""The prices of the demo: half an hour of trading, the same every time."""

from __future__ import annotations

import datetime
import json
import random
from collections.abc import Iterator

OPENING = {"AAPL": 227.5, "GOOGL": 181.2, "MSFT": 431.8, "TSLA": 342.1, "AMZN": 204.6}
START = datetime.datetime(2026, 3, 2, 14, 30, tzinfo=datetime.UTC)
MINUTES = 30
NOT_PRICES = (
    ("AAPL", "AAPL 227.51"),
    ("MSFT", '{"symbol": "MSFT", "price": "much", "time": "2026-03-02T14:31:00Z"}'),
    ("TSLA", '{"symbol": "TSLA", "price": -3.5, "size": 10, "time": "2026-03-02T14:32:00Z"}'),
    ("", '{"price": 99.5, "size": 10, "time": "2026-03-02T14:33:00Z"}'),
)
"""Records that are not prices, as in real streams; a pipeline must not fail on them."""


def prices(count: int) -> Iterator[tuple[str, str]]:
    """Yield symbols and JSON: a random walk for each symbol in turn, spread evenly over half an hour."""
    chance = random.Random(2026)
    latest = dict(OPENING)
    symbols = list(latest)
    for number in range(count):
        symbol = symbols[number % len(symbols)]
        latest[symbol] = round(latest[symbol] * (1 + chance.gauss(0, 0.0008)), 2)
        time = START + datetime.timedelta(minutes=MINUTES) * number / count
        yield symbol, _price(symbol, latest[symbol], chance.randrange(10, 500, 10), time)


def closing() -> tuple[str, str]:
    """Return a price some minutes later, which closes the minutes before it: bars are written when they are final."""
    symbol, price = next(iter(OPENING.items()))
    return symbol, _price(symbol, price, 10, START + datetime.timedelta(minutes=MINUTES + 5))


def _price(symbol: str, price: float, size: int, time: datetime.datetime) -> str:
    moment = time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return json.dumps({"symbol": symbol, "price": price, "size": size, "time": moment})
