"""`python -m bench.push.consumer KIND HOST PORT NAME COUNT`: a consumer that says when it is ready and what it got.

Penstock's is the real client with a handler that is called for every message and acknowledges it by returning; Redis's
reads its group in blocks of as many messages as Penstock sends in a frame, and acknowledges each block.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable

from bench.push.bodies import age_ms
from bench.push.children import say

BLOCK = 10


class Tally:
    """How many messages, when, and how old they were."""

    def __init__(self, expected: int) -> None:
        self._expected = expected
        self._ages: list[float] = []
        self._first = 0.0
        self.complete = threading.Event()

    def add(self, content: bytes) -> None:
        if not self._ages:
            self._first = time.perf_counter()
        self._ages.append(age_ms(content))
        if len(self._ages) >= self._expected:
            self.complete.set()

    def say(self) -> None:
        seconds = time.perf_counter() - self._first
        ages = sorted(self._ages)
        say(
            messages=len(ages),
            messages_per_s=(len(ages) - 1) / seconds,
            p50_ms=ages[len(ages) // 2],
            p99_ms=ages[len(ages) * 99 // 100],
        )


def penstock(host: str, port: int, name: str, tally: Tally) -> None:
    from penstock import BrokerClient
    from penstock.client.push.message import Message

    def handler(message: Message) -> None:
        tally.add(message.body or b"")

    with BrokerClient(host, port, client_id=f"bench-{name}") as client:
        _once_it_is_there(lambda: client.create_subscription(name, name))
        client.subscribe_to_subscription(name, handler)
        say(ready=True)
        tally.complete.wait()
        tally.say()


def _once_it_is_there(create: Callable[[], object]) -> None:
    """A mirror's topic comes with the pipe."""
    from penstock.client.push.errors import UnknownTopic

    while True:
        try:
            create()
            return
        except UnknownTopic:
            time.sleep(0.05)


def redis(host: str, port: int, name: str, tally: Tally) -> None:
    from redis import Redis

    with Redis(host, port) as client:
        client.xgroup_create(name, name, id="0", mkstream=True)
        say(ready=True)
        while not tally.complete.is_set():
            for _, messages in client.xreadgroup(name, "bench", {name: ">"}, count=BLOCK, block=1000) or ():
                for _, fields in messages:
                    tally.add(fields[b"body"])
                client.xack(name, name, *(number for number, _ in messages))
        tally.say()


if __name__ == "__main__":
    kind, host, port, name, count = sys.argv[1:]
    {"penstock": penstock, "redis": redis}[kind](host, int(port), name, Tally(int(count)))
