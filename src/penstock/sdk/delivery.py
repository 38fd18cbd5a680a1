"""Messages to send, their deliveries, and futures that know whether their outcome was read."""

from __future__ import annotations

import concurrent.futures
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from penstock.sdk.errors import Undelivered

Headers: TypeAlias = Mapping[str, str | bytes | None] | Sequence[tuple[str, str | bytes | None]]

FAILURES_KEPT = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """The place of a delivered message. `offset` is None with acks="none": the broker does not report it."""

    topic: str
    partition: int
    offset: int | None
    timestamp_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """A serialized message."""

    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]] | None
    timestamp_ms: int


Settle: TypeAlias = Callable[[Delivery | Exception], None]
"""Called once, from any thread: with the delivery, or with the error."""


class DeliveryFuture(concurrent.futures.Future[Delivery]):
    """A future of a delivery; it cannot be cancelled, as the message may be in flight."""

    def __init__(self) -> None:
        super().__init__()
        self.is_looked_at = False
        self.set_running_or_notify_cancel()

    def result(self, timeout: float | None = None) -> Delivery:
        """Wait for the delivery, or raise its error; TimeoutError after `timeout` seconds."""
        try:
            return super().result(timeout)
        finally:
            self.is_looked_at = self.done()

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Wait, and return the error; None if it was delivered."""
        try:
            return super().exception(timeout)
        finally:
            self.is_looked_at = self.done()

    def add_done_callback(self, fn: Callable[[concurrent.futures.Future[Delivery]], Any]) -> None:
        """Call `fn` with the future when it is done, in a thread of the producer."""
        self.is_looked_at = True
        super().add_done_callback(fn)


class Failures:
    """Deliveries that failed, until their futures were read or `flush` has reported them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._futures: deque[DeliveryFuture] = deque(maxlen=FAILURES_KEPT)
        self._count = 0

    def add(self, future: DeliveryFuture) -> None:
        with self._lock:
            self._futures.append(future)
            self._count += 1

    def clear(self) -> None:
        with self._lock:
            self._futures.clear()
            self._count = 0

    def check(self) -> None:
        with self._lock:
            unseen = [future for future in self._futures if not future.is_looked_at]
            more = self._count - len(self._futures)
            self._futures.clear()
            self._count = 0
        reasons = tuple(reason for future in unseen if isinstance(reason := future.exception(), Exception))
        if reasons or more:
            count = len(reasons) + more
            what = "message was" if count == 1 else "messages were"
            hint = "send it again if it must not be lost; result() of a future has the reason of each"
            first = f" (the first: {reasons[0]})" if reasons else ""
            raise Undelivered(f"{count} {what} not delivered{first}", hint=hint, errors=reasons)
