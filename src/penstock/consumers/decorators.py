"""The decorators. They only attach marks; `definition` reads and checks them.

@consumer(topic="prices", group="watch")        @consumer(topic="prices", group="watch")
@retry_policy(attempts=5)                       async def watch(price: Price) -> None: ...
class Watch:
    @message_handler
    def handle(self, price: Price) -> None: ...

    @error_handler
    def failed(self, message: Message, error: Exception) -> None: ...
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, overload

from penstock.consumers.errors import ConsumerError
from penstock.consumers.policy import RetryPolicy

CONSUMER = "__penstock_consumer__"
HANDLER = "__penstock_message_handler__"
ERRORS = "__penstock_error_handler__"
POLICY = "__penstock_retry_policy__"

Marked = TypeVar("Marked", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerMark:
    topic: str
    group: str
    start: str | int
    delivery: str
    credit: int
    concurrency: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HandlerMark:
    batch: int | None


def consumer(
    *,
    topic: str,
    group: str,
    start: str | int = "earliest",
    delivery: str = "key",
    credit: int = 100,
    concurrency: int = 1,
) -> Callable[[Marked], Marked]:
    """Handle the messages of `topic` as a member of `group`.

    `start` is where a new group begins: earliest, latest or an offset. With `delivery` key all messages of a key go to
    the same member, with message they are dealt out one by one. `credit` messages may be unacknowledged. `concurrency`
    partitions may be handled at the same time; the messages of one partition never are.
    """
    if not topic or not group:
        raise ConsumerError("@consumer needs a topic and a group: @consumer(topic='prices', group='watch')")
    if delivery not in ("key", "message"):
        raise ConsumerError(f"@consumer(delivery={delivery!r}): use 'key' or 'message'")
    if credit < 1 or concurrency < 1:
        raise ConsumerError("@consumer: credit and concurrency are 1 or more")
    if not (start in ("earliest", "latest") or (isinstance(start, int) and start >= 0)):
        raise ConsumerError(f"@consumer(start={start!r}): use 'earliest', 'latest' or an offset")
    mark = ConsumerMark(
        topic=topic, group=group, start=start, delivery=delivery, credit=credit, concurrency=concurrency
    )
    return _marking(CONSUMER, mark)


@overload
def message_handler(handler: Marked, /) -> Marked: ...
@overload
def message_handler(*, batch: int | None = None) -> Callable[[Marked], Marked]: ...
def message_handler(handler: Marked | None = None, /, *, batch: int | None = None) -> Any:
    """The method that is called for each message, or, with `batch`, for a list of up to so many of one partition."""
    if batch is not None and batch < 1:
        raise ConsumerError(f"@message_handler(batch={batch}): at least 1")
    mark = _marking(HANDLER, HandlerMark(batch=batch))
    return mark if handler is None else mark(handler)


def error_handler(handler: Marked) -> Marked:
    """The method that is called with (message, error) when a message's attempts are used up or it cannot be decoded."""
    return _marking(ERRORS, True)(handler)


def retry_policy(
    *,
    attempts: int = 3,
    initial: float = 0.1,
    factor: float = 2,
    max: float = 10,  # noqa: A002 - it is the name
) -> Callable[[Marked], Marked]:
    """Set how failures are retried; on a consumer or on its message handler."""
    try:
        policy = RetryPolicy(attempts=attempts, initial=initial, factor=factor, max=max)
    except ValueError as error:
        raise ConsumerError(f"@retry_policy: {error}") from error
    return _marking(POLICY, policy)


def _marking(name: str, value: object) -> Callable[[Marked], Marked]:
    def mark(marked: Marked) -> Marked:
        if not callable(marked):
            raise ConsumerError(f"{marked!r} is neither a class nor a function")
        setattr(marked, name, value)
        return marked

    return mark
