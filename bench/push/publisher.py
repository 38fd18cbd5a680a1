"""`python -m bench.push.publisher KIND HOST PORT TOPIC COUNT RATE`: one message at a time, each awaited, at a rate."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from bench.push.bodies import body
from bench.push.children import say


def paced(send: Callable[[bytes], object], count: int, rate: float) -> None:
    started = time.perf_counter()
    for number in range(count):
        ahead = started + number / rate - time.perf_counter()
        if ahead > 0:
            time.sleep(ahead)
        send(body())
    say(messages_per_s=count / (time.perf_counter() - started))


def penstock(host: str, port: int, topic: str, count: int, rate: float) -> None:
    from penstock import BrokerClient

    with BrokerClient(host, port, client_id=f"bench-to-{topic}") as client:
        paced(lambda content: client.publish(topic, content), count, rate)


def redis(host: str, port: int, topic: str, count: int, rate: float) -> None:
    from redis import Redis

    with Redis(host, port) as client:
        paced(lambda content: client.xadd(topic, {"body": content}), count, rate)


if __name__ == "__main__":
    kind, host, port, topic, count, rate = sys.argv[1:]
    {"penstock": penstock, "redis": redis}[kind](host, int(port), topic, int(count), float(rate))
