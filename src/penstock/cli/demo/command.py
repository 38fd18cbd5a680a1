"""`penstock demo`: a tour in a minute, on free ports and in a temporary directory.

It starts a broker in its own process, as `penstock serve` would, creates a topic, publishes a stream of stock prices
with an ordinary Kafka client and reads it back with a consumer group. Then the pipeline of examples/prices turns the
topic into tables, if Spark is installed. Only the picture of the bars is left behind.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.demo.pipeline import ALERTS, PipelineDemo
from penstock.cli.demo.prices import NOT_PRICES, OPENING, closing, prices
from penstock.cli.kafka.client import REQUEST_TIMEOUT_S, KafkaClients, connect, explain, translated
from penstock.cli.pipeline.spark_environment import spark_environ
from penstock.cli.processes.subprocess_broker import SubprocessBroker
from penstock.cli.terminal.errors import CommandError
from penstock.cli.terminal.output import Output, console, print_json, print_table

if TYPE_CHECKING:
    from confluent_kafka import Message

TOPIC = "prices"
GROUP = "price-watchers"
PARTITIONS = 3
READ_TIMEOUT_S = 60.0
NEXT_STEPS = (
    ("{penstock} serve", "a broker on 127.0.0.1:9092, data in ./data"),
    ("echo hello | {penstock} produce greetings", "send a message"),
    ("{penstock} consume greetings --follow", "read, and wait for more"),
    ("{penstock} pipeline init shop --example prices", "the pipeline, to look at and to change"),
    ("{penstock} bench", "how fast it is on this machine"),
)
PICTURE = Path("demo") / "bars.html"


@dataclass(slots=True)
class Symbol:
    """Prices of one symbol, as the consumer saw them."""

    count: int = 0
    low: float = float("inf")
    high: float = 0.0
    last: float = 0.0
    partition: int = -1
    offsets: list[int] = field(default_factory=list)

    def see(self, message: Message) -> None:
        price = json.loads(message.value() or b"{}")["price"]
        self.count += 1
        self.low, self.high, self.last = min(self.low, price), max(self.high, price), price
        self.partition = message.partition() or 0
        self.offsets.append(message.offset() or 0)


def demo(
    messages: Annotated[int, typer.Option("--messages", "-n", min=5, help="Prices to stream.")] = 20_000,
    pipeline: Annotated[
        bool, typer.Option("--pipeline/--no-pipeline", help="Run the pipeline on Spark as well, or only the broker.")
    ] = True,
    picture: Annotated[
        Path, typer.Option("--picture", metavar="FILE", help="File for the picture of the bars.")
    ] = PICTURE,
    output: Annotated[
        Output, typer.Option("--output", "-o", help="A table for people, or json for programs.")
    ] = Output.TABLE,
) -> None:
    """Start a broker, stream stock prices through it and through a pipeline, and show the result."""
    screen = console(stderr=output is Output.JSON)
    missing = _missing() if pipeline else ""
    bars: PipelineDemo | None = None
    times: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="penstock-demo-") as directory:
        started = time.monotonic()
        with SubprocessBroker(Path(directory)) as broker:
            times["start"] = time.monotonic() - started
            screen.print(f"A broker is running at [bold]{broker.bootstrap}[/], its data in {directory}")
            cluster = connect(broker.bootstrap)
            _create_topics(cluster)
            screen.print(f"Topic [bold]{TOPIC}[/] has {PARTITIONS} partitions; prices of a symbol stay in one of them")
            times["publish"] = _publish(cluster, prices(messages))
            seen, times["read"] = _read(cluster, messages)
            if pipeline and not missing:
                _publish(cluster, [*NOT_PRICES, closing()])
                bars = PipelineDemo(cluster, Path(directory) / "prices")
                times["pipeline"] = bars.run(screen)
            stopping = time.monotonic()
        times["stop"] = time.monotonic() - stopping
    _check(seen, messages)
    if bars is not None:
        bars.check(messages)
        bars.draw(picture)
    if output is Output.JSON:
        print_json(_document(seen, times) | {"pipeline": bars.document() if bars else None, "missing": missing})
        return
    _show(seen, times, messages)
    if bars is not None:
        bars.show(picture)
    if missing:
        screen.print(f"\nThe pipeline on Spark was skipped: {missing}", markup=False)
    _show_next_steps()


def _missing() -> str:
    """Return why the pipeline cannot run; empty if it can."""
    try:
        spark_environ()
    except CommandError as error:
        return str(error)
    return ""


def _create_topics(cluster: KafkaClients) -> None:
    from confluent_kafka.admin import NewTopic

    topics = [NewTopic(TOPIC, PARTITIONS, 1), NewTopic(ALERTS, 1, 1)]
    admin = cluster.admin()
    with translated("topics"):
        for made in admin.create_topics(topics, request_timeout=REQUEST_TIMEOUT_S).values():
            made.result()


def _publish(cluster: KafkaClients, records: Iterable[tuple[str, str]]) -> float:
    """Publish records and wait until all are acknowledged, and so on disk; return the seconds."""
    failures = []

    def on_delivery(error: object, _: object) -> None:
        if error is not None:
            failures.append(error)

    producer = cluster.producer(**{"enable.idempotence": True, "linger.ms": 5, "on_delivery": on_delivery})
    started = time.monotonic()
    for symbol, body in records:
        while True:
            try:
                producer.produce(TOPIC, body, symbol)
                break
            except BufferError:
                producer.poll(0.1)
        producer.poll(0)
    producer.flush()
    if failures:
        raise explain(failures[0], "publishing")
    return time.monotonic() - started


def _read(cluster: KafkaClients, count: int) -> tuple[dict[str, Symbol], float]:
    from confluent_kafka import KafkaException

    consumer = cluster.consumer(
        **{"group.id": GROUP, "auto.offset.reset": "earliest", "enable.auto.commit": False, "fetch.wait.max.ms": 50}
    )
    seen = {symbol: Symbol() for symbol in OPENING}
    started = time.monotonic()
    received = 0
    try:
        consumer.subscribe([TOPIC])
        while received < count and time.monotonic() - started < READ_TIMEOUT_S:
            for message in consumer.consume(1000, 0.1):
                if (error := message.error()) is not None:
                    raise explain(error, "reading")
                seen[(message.key() or b"").decode()].see(message)
                received += 1
        elapsed = time.monotonic() - started
        consumer.commit(asynchronous=False)
    except KafkaException as error:
        raise explain(error.args[0], "reading") from error
    finally:
        consumer.close()
    return seen, elapsed


def _check(seen: dict[str, Symbol], count: int) -> None:
    """Check that everything came back once and in order: the demo is a test as well."""
    received = sum(symbol.count for symbol in seen.values())
    if received != count:
        raise CommandError(f"{count} prices were published but {received} came back", hint="this is a bug: report it")
    if any(symbol.offsets != sorted(set(symbol.offsets)) for symbol in seen.values()):
        raise CommandError("prices came back out of order", hint="this is a bug: report it")


def _document(seen: dict[str, Symbol], times: dict[str, float]) -> dict[str, object]:
    symbols = [
        {
            "symbol": name,
            "messages": symbol.count,
            "low": symbol.low,
            "high": symbol.high,
            "last": symbol.last,
            "partition": symbol.partition,
            "first_offset": symbol.offsets[0],
            "last_offset": symbol.offsets[-1],
        }
        for name, symbol in seen.items()
    ]
    return {"symbols": symbols, "seconds": {name: round(value, 3) for name, value in times.items()}}


def _show(seen: dict[str, Symbol], times: dict[str, float], count: int) -> None:
    rows = [
        (
            name,
            symbol.count,
            f"{symbol.low:.2f}",
            f"{symbol.high:.2f}",
            f"{symbol.last:.2f}",
            symbol.partition,
            f"{symbol.offsets[0]} to {symbol.offsets[-1]}",
        )
        for name, symbol in seen.items()
    ]
    columns = ["symbol", "prices", "low", "high", "last", "partition", "offsets"]
    title = f"What the group {GROUP} read back"
    print_table(columns, rows, title=title, numbers=["prices", "low", "high", "last", "partition", "offsets"])
    screen = console()
    screen.print(
        f"Started in {times['start']:.2f} s; {count:,} prices published and on disk in {times['publish']:.2f} s"
        f" ({count / times['publish']:,.0f} per second), read back in {times['read']:.2f} s; stopped in"
        f" {times['stop']:.2f} s."
    )


def _show_next_steps() -> None:
    screen = console()
    screen.print("\nWhere to go next")
    steps = [(command.format(penstock=_own_name()), what) for command, what in NEXT_STEPS]
    width = max(len(command) for command, _ in steps)
    for command, what in steps:
        screen.print(f"  {command:<{width}}  {what}")
    screen.print("  any Kafka client with bootstrap.servers=127.0.0.1:9092")


def _own_name() -> str:
    """Return what to type for this program: its name if it is on the PATH, otherwise its path."""
    program = Path(sys.argv[0])
    if shutil.which(program.name):
        return program.name
    return os.path.relpath(program) if program.is_relative_to(Path.cwd()) else str(program)
