"""The second part of the demo: examples/prices over the demo's topic, with bars on the screen and as a picture."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.cli.demo.picture import bars_page
from penstock.cli.demo.prices import MINUTES, NOT_PRICES, OPENING
from penstock.cli.kafka.client import KafkaClients, explain
from penstock.cli.pipeline.events import UpdateProgress
from penstock.cli.pipeline.init import copy_example
from penstock.cli.pipeline.project import BOOTSTRAP, open_project
from penstock.cli.pipeline.run import run_project
from penstock.cli.pipeline.update import Wanted, Where
from penstock.cli.terminal.errors import CommandError
from penstock.cli.terminal.output import console, print_table

if TYPE_CHECKING:
    from rich.console import Console

ALERTS = "price-alerts"
SHOWN_MINUTES = 3
READ_TIMEOUT_S = 20.0
SHORT_LIVED = {
    "spark.sql.catalogImplementation": "in-memory",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}
"""Settings for a Spark that runs once: a catalog in memory, and no time spent on optimizing its code."""
COLUMNS = ("minute", "symbol", "open", "high", "low", "close", "volume", "prices")


class PipelineDemo:
    """One run of the pipeline, and its results."""

    def __init__(self, cluster: KafkaClients, directory: Path) -> None:
        self._cluster = cluster
        self._directory = directory
        self._progress = UpdateProgress()
        self.bars: list[dict[str, Any]] = []
        self.alerts: list[dict[str, Any]] = []

    def run(self, screen: Console) -> float:
        """Run the pipeline and return the seconds, including the start of Spark."""
        screen.print("The pipeline of [bold]examples/prices[/] turns the topic into tables; starting Spark")
        copy_example("prices", self._directory)
        wanted = Wanted(conf={BOOTSTRAP: self._cluster.bootstrap, **SHORT_LIVED}, show=("bars",))
        started = time.monotonic()
        self._progress, log = run_project(open_project(self._directory), Where(), wanted)
        if self._progress.error:
            kept = shutil.move(log, Path.cwd() / "penstock-demo.log")  # the directory is about to go
            raise CommandError(f"the pipeline failed: {self._progress.error}", hint=f"the full log is {kept}")
        [shown] = self._progress.shown
        rows = [dict(zip(shown["columns"], row, strict=True)) for row in shown["rows"]]
        self.bars = sorted(rows, key=lambda bar: (bar["symbol"], bar["minute"]))
        self.alerts = list(self._read_alerts())
        return time.monotonic() - started

    def check(self, count: int) -> None:
        """Check that every price is in a bar or in an open minute, and every other record in quarantine."""
        tables = self._progress.tables
        expected = {"prices": count + 1, "quarantine": len(NOT_PRICES), "latest_price": len(OPENING)}
        found = {name: tables.get(name) for name in expected}
        if found != expected or sum(bar["prices"] for bar in self.bars) != count:
            raise CommandError(f"the tables have {tables}, not {expected}", hint="this is a bug: report it")

    def draw(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(bars_page(self.bars))

    def show(self, picture: Path) -> None:
        minutes = sorted({bar["minute"] for bar in self.bars})[-SHOWN_MINUTES:]
        rows = [[_cell(bar[name]) for name in COLUMNS] for bar in self.bars if bar["minute"] in minutes]
        title = f"One-minute bars: the last {len(minutes)} minutes of {MINUTES}, {len(self.bars)} bars in all"
        print_table(COLUMNS, rows, title=title, numbers=COLUMNS[2:])
        tables = self._progress.tables
        screen = console()
        screen.print(
            f"The pipeline took {self._progress.seconds:.1f} s on a Spark that had to start first: {tables['prices']:,}"
            f" prices, {tables['quarantine']} records in quarantine, {len(self.alerts)} alerts in the topic {ALERTS}."
        )
        for alert in self.alerts[:SHOWN_MINUTES]:
            screen.print(f"  {alert['minute'][11:16]} {alert['symbol']} moved {alert['percent']:+.2f} %")
        screen.print(f"The bars are drawn in [bold]{picture}[/]")

    def document(self) -> dict[str, Any]:
        return {"tables": self._progress.tables, "bars": self.bars, "alerts": self.alerts}

    def _read_alerts(self) -> Iterator[dict[str, Any]]:
        """Yield everything that is in the topic now."""
        from confluent_kafka import TopicPartition

        consumer = self._cluster.consumer(**{"group.id": "price-alerts", "enable.partition.eof": True})
        deadline = time.monotonic() + READ_TIMEOUT_S
        try:
            consumer.assign([TopicPartition(ALERTS, 0, 0)])
            while time.monotonic() < deadline:
                message = consumer.poll(1.0)
                if message is None:
                    continue
                if (error := message.error()) is not None:
                    if error.name() == "_PARTITION_EOF":
                        return
                    raise explain(error, "reading alerts")
                yield json.loads(message.value() or b"{}")
        finally:
            consumer.close()


def _cell(value: object) -> object:
    return f"{value:.2f}" if isinstance(value, float) else value
