"""The output of the example: a table of the levels, and the state of the consumer application."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from examples.edge.hierarchy import Broker, Hierarchy

COLOURS = {"HEALTHY": "green", "DEGRADED": "yellow", "UNHEALTHY": "red"}


def picture(hierarchy: Hierarchy, topic: str, published: int, story: str) -> RenderableType:
    levels = Table(title="Prices on their way down", title_justify="left")
    for column in ("", "process", "messages", "behind", "pipe from above"):
        levels.add_column(column, justify="right" if column in ("messages", "behind") else "left")
    levels.add_row("", "registry", "", "", "" if hierarchy.registry.is_running else "[red]away[/]")
    names = {broker.http_port: broker.name for broker in hierarchy.brokers}
    for depth, broker in enumerate(hierarchy.brokers):
        levels.add_row(*_broker_row(depth, broker, names, topic, published))
    stats = hierarchy.edge.get("/stats")
    arrived = None if stats is None else int(stats["messages"])
    levels.add_row("   └→", "edge", *_counts(arrived, published), "")
    return Group(levels, _prices(hierarchy), Text(story, style="bold"))


def _broker_row(depth: int, broker: Broker, names: Mapping[int, str], topic: str, published: int) -> tuple[str, ...]:
    health, parent = ("source", 0) if depth == 0 else broker.pipe()
    colour = COLOURS.get(health, "dim")
    arrow = "" if depth == 0 else " " * depth + "└→"
    origin = f" from {names[parent]}" if parent in names else ""
    return (arrow, broker.name, *_counts(broker.message_count(topic), published), f"[{colour}]{health}[/]{origin}")


def _counts(count: int | None, published: int) -> tuple[str, str]:
    return ("[red]away[/]", "") if count is None else (f"{count:,}", f"{max(0, published - count):,}")


def _prices(hierarchy: Hierarchy) -> Table:
    """The last price of each symbol, as the consumer application answers for it, broker or not."""
    table = Table(title="Last prices, as edge answers", title_justify="left")
    prices = {}
    for symbol in ("AAPL", "GOOGL", "MSFT", "TSLA", "AMZN"):
        answer = hierarchy.edge.get(f"/messages/latest?key={symbol}")
        prices[symbol] = "–" if answer is None else f"{answer['body']['price']:.2f}"
    for symbol in prices:
        table.add_column(symbol, justify="right")
    table.add_row(*prices.values())
    return table
