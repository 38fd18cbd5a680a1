"""Decoding and encoding of large requests has threads of its own: neither waits for other work, nor the other way."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from penstock.broker.codec_threads import CodecThreads
from penstock.broker.dispatcher import Dispatcher
from penstock.model.limits import REQUEST_BYTES_DECODED_AT_ONCE, REQUEST_BYTES_DECODED_SOON
from penstock.net.reply import Buffers
from tests.support.admin_broker import AdminBroker
from tests.support.wire import API_KEYS, encode_body

SHORT, LARGE = REQUEST_BYTES_DECODED_SOON, REQUEST_BYTES_DECODED_SOON + 1
MANY = 12
NAMES = [f"n{number:029}" for number in range(REQUEST_BYTES_DECODED_AT_ONCE // 10)]
REQUESTS: list[tuple[str, int, dict[str, Any]]] = [
    ("describe_groups", 5, {"groups": NAMES, "include_authorized_operations": False}),
    ("produce", 9, {"transactional_id": None, "acks": -1, "timeout": 1, "topic_data": [
        {"name": name, "partition_data": [{"index": 0, "records": None}]} for name in NAMES
    ]}),
]  # fmt: skip


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """Closed while a test runs: what waits at it ends with the test."""
    event = threading.Event()
    yield event
    event.set()


@pytest.mark.parametrize(("api", "version", "fields"), REQUESTS, ids=[each[0] for each in REQUESTS])
def test_a_large_request_does_not_wait_for_the_threads_of_the_loop(
    api: str, version: int, fields: dict[str, Any], gate: threading.Event
) -> None:
    body = encode_body(api, version, fields)
    assert len(body) > REQUEST_BYTES_DECODED_AT_ONCE

    async def ask(node: AdminBroker) -> Buffers | None:
        dispatcher = Dispatcher(node.broker)
        await dispatcher.dispatch(node.request(API_KEYS[api], version, body)).wait()  # its schema is loaded
        with ThreadPoolExecutor(1) as only:
            asyncio.get_running_loop().set_default_executor(only)
            waiting = asyncio.ensure_future(asyncio.to_thread(gate.wait))
            async with asyncio.timeout(10):
                try:
                    return await dispatcher.dispatch(node.request(API_KEYS[api], version, body)).wait()
                finally:
                    gate.set()
                    await waiting

    with AdminBroker() as node:
        assert node.run(ask(node))


def test_the_largest_let_others_go_first(gate: threading.Event) -> None:
    async def run() -> None:
        codecs = CodecThreads()
        largest = [asyncio.ensure_future(codecs.run("a", LARGE, gate.wait)) for _ in range(MANY)]
        async with asyncio.timeout(10):
            assert await codecs.run("a", SHORT, str, 1) == "1"
            assert await asyncio.to_thread(str, 2) == "2"
        assert not any(each.done() for each in largest)
        gate.set()
        assert all(await asyncio.gather(*largest))
        codecs.close()

    asyncio.run(run())


def test_nobody_waits_for_decoding_but_requests(gate: threading.Event) -> None:
    async def run() -> None:
        codecs = CodecThreads()
        others = [asyncio.ensure_future(codecs.run("a", SHORT, gate.wait)) for _ in range(MANY)]
        async with asyncio.timeout(10):
            assert await asyncio.to_thread(str, 2) == "2"
        codecs.close()  # those that have not begun are given up
        gate.set()
        given_up = await asyncio.gather(*others, return_exceptions=True)
        assert sum(isinstance(each, asyncio.CancelledError) for each in given_up) > 0

    asyncio.run(run())


@pytest.mark.parametrize("size", [SHORT, LARGE], ids=["short", "large"])
def test_one_user_does_not_hold_up_another(size: int, gate: threading.Event) -> None:
    done: list[str] = []

    def work(owner: str) -> None:
        gate.wait()
        done.append(owner)

    async def run() -> None:
        codecs = CodecThreads()
        crowd = [asyncio.ensure_future(codecs.run("a", size, work, "a")) for _ in range(MANY)]
        await asyncio.sleep(0)
        for each in crowd[1:4]:
            each.cancel()  # clients that have gone; their threads, if they had one, are still taken
        other = asyncio.ensure_future(codecs.run("b", size, work, "b"))
        await asyncio.sleep(0)
        gate.set()
        async with asyncio.timeout(10):
            await asyncio.gather(other, *crowd, return_exceptions=True)
        assert "b" in done[:4]
        assert done.count("a") >= MANY - 3
        codecs.close()

    asyncio.run(run())
