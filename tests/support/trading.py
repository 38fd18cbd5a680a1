"""Prices for the example pipeline, and the expected results, computed in plain Python."""

import datetime
import json
from collections.abc import Iterable
from typing import Any

from penstock.model.batch_builder import NewRecord, build_batch
from tests.support.batches import now_ms
from tests.support.raw_client import RawClient

START = datetime.datetime(2026, 3, 2, 14, 30, tzinfo=datetime.UTC)


def price(symbol: str, value: float, second: float, size: int = 10) -> str:
    time = (START + datetime.timedelta(seconds=second)).isoformat()
    return json.dumps({"symbol": symbol, "price": value, "size": size, "time": time})


def publish(client: RawClient, topic: str, values: Iterable[str | None], *, partition: int = 0) -> None:
    records = [NewRecord(None, None if value is None else value.encode(), ()) for value in values]
    assert client.produce(topic, bytes(build_batch(records, timestamp=now_ms())), partition=partition).error_code == 0


def expected_bars(values: Iterable[str], *, until_s: float) -> dict[tuple[str, str], tuple[float, ...]]:
    """(minute, symbol) → open, high, low, close, volume, count of every minute that has ended."""
    minutes: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for value in values:
        found = json.loads(value)
        time = datetime.datetime.fromisoformat(found["time"])
        minute = time.replace(second=0, microsecond=0)
        if (minute - START).total_seconds() + 60 <= until_s:
            minutes.setdefault((str(minute.replace(tzinfo=None)), found["symbol"]), []).append(found)
    return {key: _bar(sorted(rows, key=lambda row: row["time"])) for key, rows in minutes.items()}


def _bar(rows: list[dict[str, Any]]) -> tuple[float, ...]:
    values = [row["price"] for row in rows]
    return values[0], max(values), min(values), values[-1], sum(row["size"] for row in rows), len(rows)
