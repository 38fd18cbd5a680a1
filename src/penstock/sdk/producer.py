"""`penstock.Producer`: messages out, a future for each. `AsyncProducer` is its twin for asyncio."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any, Generic, Self, Unpack

from penstock.sdk.delivery import Delivery, DeliveryFuture, Headers
from penstock.sdk.errors import QueueFull, Undelivered
from penstock.sdk.formats import SerializerChoice, Value
from penstock.sdk.options import ProducerOptions
from penstock.sdk.sending import Sending
from penstock.sdk.transactional import Transactional

_WAIT_S = 0.05


class Producer(Generic[Value]):
    """Sender of messages, batched and retried in the background, idempotent by default.

        with Producer("127.0.0.1:9092", value_serializer="json") as producer:
            delivery = producer.send("orders", {"id": 7}, key=b"customer-1").result()
            print(delivery.partition, delivery.offset)

    May be used by several threads, except for transactions, of which there is one at a time.
    `penstock.sdk.ProducerOptions` lists the settings.
    """

    def __init__(
        self,
        bootstrap: str,
        *,
        value_serializer: SerializerChoice[Value] = "bytes",
        key_serializer: SerializerChoice[Any] = "bytes",
        **options: Unpack[ProducerOptions],
    ) -> None:
        self._sending = Sending(bootstrap, key_serializer, value_serializer, {**options})
        self.transactional = Transactional(self._sending)
        self._queue_timeout_s = self._sending.options["queue_timeout_ms"] / 1000

    @property
    def options(self) -> ProducerOptions:
        """The settings, with their defaults."""
        return self._sending.options

    def __enter__(self) -> Self:
        self._sending.check_open()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
            return
        with contextlib.suppress(Undelivered):  # the exception already being raised says more
            self.close()

    def send(
        self,
        topic: str,
        value: Value | None = None,
        *,
        key: Any = None,
        headers: Headers | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> DeliveryFuture:
        """Queue a message. The future has its partition, offset and timestamp, or raises the reason of the failure.

        With the queue full it waits for up to `queue_timeout_ms`, then raises QueueFull.
        """
        self._sending.check_open()
        message = self._sending.outgoing(topic, value, key, headers, partition, timestamp_ms)
        future = DeliveryFuture()

        def settle(outcome: Delivery | Exception) -> None:
            if isinstance(outcome, Exception):
                self._sending.failures.add(future)
                future.set_exception(outcome)
            else:
                future.set_result(outcome)

        deadline = time.monotonic() + self._queue_timeout_s
        while not self._sending.offer(message, settle):
            if time.monotonic() >= deadline:
                raise queue_full(self._sending)
            self._sending.wait_for_room(_WAIT_S)
        return future

    def flush(self, timeout_s: float | None = None) -> None:
        """Wait until everything is delivered. Undelivered if a message failed whose future was not read."""
        self._sending.check_open()
        left = self._sending.flush(timeout_s)
        if left:
            raise unfinished(left, timeout_s)
        self._sending.failures.check()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Self]:
        """A transaction: messages sent within take effect together at its end; none do after an exception."""
        self.transactional.begin()
        try:
            yield self
        except BaseException:
            if not self._sending.is_closed and self.transactional.is_open:
                self.transactional.abort()
            raise
        self.transactional.commit([])

    def close(self, timeout_s: float | None = None) -> None:
        """Deliver queued messages, for up to `timeout_s`, and end.

        Closing twice is not an error. Raises as `flush` does.
        """
        if self._sending.is_closed:
            return
        left = self._sending.close(timeout_s)
        if left:
            self._sending.failures.clear()
            raise unfinished(left, timeout_s)
        self._sending.failures.check()


def queue_full(sending: Sending) -> QueueFull:
    limit, timeout_ms = sending.options["queue_messages"], sending.options["queue_timeout_ms"]
    text = f"the queue ({limit} messages, {sending.options['queue_bytes']} bytes) was full for {timeout_ms} ms"
    return QueueFull(text, hint="send more slowly, check that the broker answers, or raise queue_messages, queue_bytes")


def unfinished(left: int, timeout_s: float | None) -> Undelivered:
    what = "1 message was" if left == 1 else f"{left:,} messages were"
    text = f"{what} not delivered within {timeout_s} s"
    return Undelivered(text, hint="allow more time, or check that the broker answers")
