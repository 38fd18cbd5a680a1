"""Ten thousand subscribers, each with a connection and a client of its own, and a thousand messages a second for them.

`python -m bench.push.subscribers PORT FIRST COUNT`: a part of them in one process. A hundred members share a
subscription, and each subscription has a topic. The first message of each topic makes its files and is not counted.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import sys
import time

import uvloop

from bench.push.bodies import age_ms, body
from bench.push.children import Child, child, say
from bench.push.delivery import make_topics
from bench.rivals import HOST, Penstock
from bench.spread import Figures, percentile
from penstock import AsyncBrokerClient
from penstock.client.push.message import Message

MEMBERS = 100
PROCESSES = 2
CONNECTING_AT_ONCE = 50
END_SECONDS = 20.0


def name_of(number: int) -> str:
    return f"crowd-{number // MEMBERS}"


async def hold(port: int, first: int, count: int) -> None:
    ages: list[float] = []

    def handler(message: Message) -> None:
        ages.append(age_ms(message.body or b""))

    turns = asyncio.Semaphore(CONNECTING_AT_ONCE)

    async def subscriber(number: int) -> AsyncBrokerClient:
        async with turns:
            client = AsyncBrokerClient(HOST, port, client_id=f"crowd-member-{number}", request_timeout=120)
            await client.connect()
            await client.create_subscription(name_of(number), name_of(number))
            await client.subscribe_to_subscription(name_of(number), handler)
            return client

    clients = await asyncio.gather(*(subscriber(number) for number in range(first, first + count)))
    gc.collect()
    gc.freeze()  # five thousand clients in one process: the search for garbage among them is not what is measured
    say(held=sum(client.is_connected for client in clients))
    loop = asyncio.get_running_loop()
    await loop.run_in_executor(None, sys.stdin.readline)
    say(first=len(ages))
    ages.clear()
    await loop.run_in_executor(None, sys.stdin.readline)
    say(held=sum(client.is_connected for client in clients), ages=ages)


async def publish(port: int, seconds: float, rate: int, topics: int) -> int:
    """Spread over all topics, whether or not the one before was answered."""
    sent = []
    async with AsyncBrokerClient(HOST, port, client_id="crowd-publisher") as client:
        started = time.perf_counter()
        for number in range(int(seconds * rate)):
            ahead = started + number / rate - time.perf_counter()
            if ahead > 0:
                await asyncio.sleep(ahead)
            sent.append(asyncio.ensure_future(client.publish(f"crowd-{number % topics}", body())))
        await asyncio.gather(*sent)
    return len(sent)


def crowd(broker: Penstock, count: int, seconds: float, rate: int) -> Figures:
    topics = count // MEMBERS
    port, share = broker.address[1], count // PROCESSES
    make_topics(port, *(f"crowd-{number}" for number in range(topics)))
    with contextlib.ExitStack() as stack:
        parts: list[Child] = [
            stack.enter_context(child("bench.push.subscribers", port, number * share, share))
            for number in range(PROCESSES)
        ]
        held = sum(part.hear()["held"] for part in parts)
        uvloop.run(publish(port, topics / rate, rate, topics))
        time.sleep(1.0)
        for part in parts:
            part.tell()
        if sum(part.hear()["first"] for part in parts) != topics:
            raise RuntimeError("the first message of some topic did not come once")
        sent = uvloop.run(publish(port, seconds, rate, topics))
        time.sleep(1.0)
        for part in parts:
            part.tell()
        ends = [part.hear() for part in parts]
    ages = sorted(age for end in ends for age in end["ages"])
    if held != count or sum(end["held"] for end in ends) != count or len(ages) < sent:
        raise RuntimeError(f"{held:,} of {count:,} held, {len(ages):,} of {sent:,} messages came")
    return {"held": held, "p50_ms": percentile(ages, 0.5), "p99_ms": percentile(ages, 0.99)}


if __name__ == "__main__":
    uvloop.run(hold(*map(int, sys.argv[1:])))
