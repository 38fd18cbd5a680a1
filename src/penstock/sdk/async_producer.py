"""`penstock.AsyncProducer`: the twin of `Producer` for asyncio. Nothing here blocks the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import Any, Generic, Self, Unpack

from penstock.sdk.delivery import Delivery, Headers
from penstock.sdk.formats import SerializerChoice, Value
from penstock.sdk.options import ProducerOptions
from penstock.sdk.producer import queue_full, unfinished
from penstock.sdk.sending import Sending
from penstock.sdk.transactional import Transactional

_WAIT_S = 0.01


class _Reports:
    """Outcomes from librdkafka's thread to the futures of a loop: one wake-up for all that are ready."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._lock = threading.Lock()
        self._waiting: deque[tuple[asyncio.Future[Delivery], Delivery | Exception]] = deque()
        self._is_called = False

    def add(self, future: asyncio.Future[Delivery], outcome: Delivery | Exception) -> None:
        with self._lock:
            self._waiting.append((future, outcome))
            if self._is_called:
                return
            self._is_called = True
        with contextlib.suppress(RuntimeError):  # the loop is closed: there are no waiters any more
            self._loop.call_soon_threadsafe(self._settle)

    def _settle(self) -> None:
        with self._lock:
            settled = list(self._waiting)
            self._waiting.clear()
            self._is_called = False
        for future, outcome in settled:
            if future.done():
                continue  # its task was cancelled
            if isinstance(outcome, Exception):
                future.set_exception(outcome)
            else:
                future.set_result(outcome)


async def _finished(call: Callable[..., object], *arguments: Any) -> None:
    """Run a call in a thread. A task that is cancelled waits for its end, so nothing is left half done."""
    task = asyncio.ensure_future(asyncio.to_thread(call, *arguments))
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise


class AsyncProducer(Generic[Value]):
    """Sender of messages for coroutines. To be created within a running event loop, and used by it alone.

        async with AsyncProducer("127.0.0.1:9092", value_serializer="json") as producer:
            delivery = await producer.send("orders", {"id": 7}, key=b"customer-1")

    Everything else is as with `Producer`.
    """

    def __init__(
        self,
        bootstrap: str,
        *,
        value_serializer: SerializerChoice[Value] = "bytes",
        key_serializer: SerializerChoice[Any] = "bytes",
        **options: Unpack[ProducerOptions],
    ) -> None:
        self._reports = _Reports(asyncio.get_running_loop())
        self._sending = Sending(bootstrap, key_serializer, value_serializer, {**options})
        self.transactional = Transactional(self._sending)

    @property
    def options(self) -> ProducerOptions:
        """The settings, with their defaults."""
        return self._sending.options

    async def __aenter__(self) -> Self:
        self._sending.check_open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def send(
        self,
        topic: str,
        value: Value | None = None,
        *,
        key: Any = None,
        headers: Headers | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> Delivery:
        """Send a message and wait until it is delivered. Many at once with `asyncio.gather`, or with `enqueue`."""
        return await (
            await self.enqueue(topic, value, key=key, headers=headers, partition=partition, timestamp_ms=timestamp_ms)
        )

    async def enqueue(
        self,
        topic: str,
        value: Value | None = None,
        *,
        key: Any = None,
        headers: Headers | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> asyncio.Future[Delivery]:
        """Wait for room in the queue only; the future has the delivery. QueueFull after `queue_timeout_ms`."""
        sending = self._sending
        sending.check_open()
        if sending.needs_count(topic, partition):
            await asyncio.to_thread(sending.ask_count, topic)
        message = sending.outgoing(topic, value, key, headers, partition, timestamp_ms)
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Delivery] = loop.create_future()
        deadline = loop.time() + sending.options["queue_timeout_ms"] / 1000
        while not sending.offer(message, lambda outcome: self._reports.add(future, outcome)):
            if loop.time() >= deadline:
                raise queue_full(sending)
            await asyncio.sleep(_WAIT_S)
        return future

    async def flush(self, timeout_s: float | None = None) -> None:
        """Wait until everything is delivered, or has failed: each future says which."""
        self._sending.check_open()
        left = await asyncio.to_thread(self._sending.flush, timeout_s)
        if left:
            raise unfinished(left, timeout_s)

    @contextlib.asynccontextmanager
    async def transaction(self) -> AsyncIterator[Self]:
        """A transaction: messages sent within take effect together at its end; none do after an exception."""
        self.transactional.check_none_open()
        try:
            await _finished(self.transactional.begin)
            yield self
        except BaseException:
            if not self._sending.is_closed and self.transactional.is_open:
                await _finished(self.transactional.abort)
            raise
        await _finished(self.transactional.commit, [])

    async def close(self, timeout_s: float | None = None) -> None:
        """Deliver queued messages, for up to `timeout_s`, and end. Closing twice is not an error."""
        if self._sending.is_closed:
            return
        left = await asyncio.to_thread(self._sending.close, timeout_s)
        if left:
            raise unfinished(left, timeout_s)
