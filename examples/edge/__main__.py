"""`python -m examples.edge`: a hierarchy of brokers in one command, with a live picture; see README.md."""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import threading
import time
from pathlib import Path

from rich.console import Console
from rich.live import Live

from examples.edge.hierarchy import HOST, Hierarchy
from examples.edge.picture import picture
from penstock import BrokerClient

TOPIC = "price-topic"
SYMBOLS = ("AAPL", "GOOGL", "MSFT", "TSLA", "AMZN")
PRICES_PER_SECOND = 10
REFRESH_SECONDS = 0.5
ARRIVAL_SECONDS = 60.0


class Publisher(threading.Thread):
    """Prices at the root. `count` are acknowledged, that is on its disk."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self.count = 0
        self._port = port
        self._ended = threading.Event()

    def run(self) -> None:
        chance, prices = random.Random(7), dict.fromkeys(SYMBOLS, 100.0)
        with BrokerClient(HOST, self._port, client_id="head-office") as client:
            client.create_topic(TOPIC)
            while not self._ended.wait(1 / PRICES_PER_SECOND):
                symbol = chance.choice(SYMBOLS)
                prices[symbol] *= 1 + chance.uniform(-0.01, 0.01)
                body = json.dumps({"symbol": symbol, "price": round(prices[symbol], 2)})
                client.publish(TOPIC, body, key=symbol)
                self.count += 1

    def end(self) -> None:
        self._ended.set()
        self.join()


class Story:
    """The timetable, in shares of the whole time; without an end, repeated every 40 seconds."""

    def __init__(self, hierarchy: Hierarchy, seconds: float) -> None:
        self._hierarchy = hierarchy
        self._length = seconds or 40.0

    def go_on(self, passed: float) -> str:
        share = passed % self._length / self._length
        middle = self._hierarchy.middle
        if 0.35 <= share < 0.6:
            if middle.is_running:
                middle.kill()
            return (
                "l2 was killed (kill -9): the shop below has what it has, and soon goes on with the root as its parent"
            )
        if not middle.is_running:
            middle.start()
        if share >= 0.6:
            return "l2 is back, catches up, and is soon the parent of the shop again: nothing missed, nothing twice"
        return "everything is up: a price is at the bottom some milliseconds after it was published"


def show(hierarchy: Hierarchy, publisher: Publisher, seconds: float) -> None:
    story, started = Story(hierarchy, seconds), time.monotonic()
    with Live(console=Console(), refresh_per_second=4, transient=False) as live:
        while (passed := time.monotonic() - started) < (seconds or float("inf")):
            text = story.go_on(passed)
            live.update(picture(hierarchy, TOPIC, publisher.count, text))
            time.sleep(REFRESH_SECONDS)
        publisher.end()
        deadline = time.monotonic() + ARRIVAL_SECONDS
        while arrived(hierarchy) < publisher.count and time.monotonic() < deadline:
            live.update(picture(hierarchy, TOPIC, publisher.count, "publishing has ended; the last prices arrive"))
            time.sleep(REFRESH_SECONDS)
        live.update(picture(hierarchy, TOPIC, publisher.count, "the end"))


def arrived(hierarchy: Hierarchy) -> int:
    stats = hierarchy.edge.get("/stats")
    return 0 if stats is None else int(stats["messages"])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m examples.edge", description=__doc__)
    parser.add_argument("--seconds", type=float, default=0.0, help="how long; 0 is until Ctrl-C")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="penstock-edge-") as directory:
        hierarchy = Hierarchy(Path(directory))
        try:
            print("starting a registry, three brokers and the consumer application …", flush=True)
            hierarchy.start()
            publisher = Publisher(hierarchy.root.push_port)
            publisher.start()
            show(hierarchy, publisher, arguments.seconds)
            count = arrived(hierarchy)
            print(f"\n{publisher.count} prices published at the root, {count} at the bottom")
            return 0 if count == publisher.count else 1
        except KeyboardInterrupt:
            return 0
        finally:
            hierarchy.stop()


if __name__ == "__main__":
    sys.exit(main())
