"""`penstock.AsyncConsumer`: the twin of `Consumer` for asyncio. Blocking calls run in a thread of its own."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from queue import SimpleQueue
from typing import Any, Generic, Self, TypeAlias, TypeVar, Unpack

from penstock.model.topic_partition import TopicPartition
from penstock.sdk.arguments import checked_size
from penstock.sdk.async_producer import AsyncProducer
from penstock.sdk.consumer import check_polled, has_transactions
from penstock.sdk.errors import SettingsError, StateError
from penstock.sdk.formats import DeserializerChoice, Value
from penstock.sdk.options import ConsumerOptions, Start
from penstock.sdk.receiving import Receiving
from penstock.sdk.record import Record
from penstock.sdk.transaction import Work

_POLL_S = 1.0

Result = TypeVar("Result")
_Requests: TypeAlias = "SimpleQueue[Callable[[], None] | None]"
_CALLBACK: ContextVar[list[_Requests] | None] = ContextVar("callback of a rebalance", default=None)


def _asked(requests: _Requests, call: Callable[..., Result], *arguments: Any) -> Future[Result]:
    answer: Future[Result] = Future()

    def request() -> None:
        try:
            answer.set_result(call(*arguments))
        except BaseException as error:  # any exception is passed to the caller
            answer.set_exception(error)

    requests.put(request)
    return answer


class AsyncConsumer(Generic[Value]):
    """Reader of topics for coroutines. To be created within a running event loop, and used by one task at a time.

        async with AsyncConsumer("127.0.0.1:9092", "orders", group="billing", value_deserializer="json") as consumer:
            async for record in consumer:
                print(record.key, record.value)

    Everything else is as with `Consumer`. `on_assign`, `on_revoke` and `on_lost` may be coroutine functions.
    """

    def __init__(
        self,
        bootstrap: str,
        topics: str | Sequence[str],
        *,
        value_deserializer: DeserializerChoice[Value] = "bytes",
        key_deserializer: DeserializerChoice[Any] = "bytes",
        producer: AsyncProducer[Any] | None = None,
        **options: Unpack[ConsumerOptions],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        has_producer = has_transactions(producer)
        given = self._waiting_for_coroutines({**options})
        self._receiving: Receiving[Value] = Receiving(
            bootstrap, topics, key_deserializer, value_deserializer, given, has_producer=has_producer
        )
        self._producer = producer
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="penstock-consumer")
        self._under_way: asyncio.Future[Any] | None = None

    def _waiting_for_coroutines(self, given: dict[str, Any]) -> dict[str, Any]:
        if inspect.iscoroutinefunction(given.get("on_bad_record")):
            raise SettingsError("on_bad_record is a coroutine function", hint="give a plain one; it may create a task")
        for name in ("on_assign", "on_revoke", "on_lost"):
            if inspect.iscoroutinefunction(given.get(name)):
                given[name] = self._waiting(given[name])
        return given

    def _waiting(self, function: Callable[[list[TopicPartition]], Any]) -> Callable[[list[TopicPartition]], None]:
        async def within(places: list[TopicPartition], waiting: list[_Requests]) -> None:
            _CALLBACK.set(waiting)
            try:
                await function(places)
            finally:
                waiting[0].put(None)
                waiting.clear()  # tasks that it has started inherit the list, too

        def call(places: list[TopicPartition]) -> None:
            requests: _Requests = SimpleQueue()
            ending = asyncio.run_coroutine_threadsafe(within(places, [requests]), self._loop)
            while (request := requests.get()) is not None:
                request()
            ending.result()

        return call

    async def _wait(self, call: Callable[..., Result], *arguments: Any) -> Result:
        """Run a call in the thread. After a cancellation the call continues, and the next one waits for its end."""
        waiting = _CALLBACK.get()
        if waiting:  # the thread waits for the callback, and serves its calls meanwhile
            return await asyncio.wrap_future(_asked(waiting[0], call, *arguments))
        await self._rest()
        self._receiving.check_open()
        self._under_way = self._loop.run_in_executor(self._thread, call, *arguments)
        result: Result = await asyncio.shield(self._under_way)
        return result

    async def _rest(self) -> None:
        if self._under_way is not None and not self._under_way.done():
            await asyncio.wait([self._under_way])
        if self._under_way is not None and not self._under_way.cancelled():
            self._under_way.exception()  # retrieved, not raised: it belongs to an earlier call
        self._under_way = None

    @property
    def options(self) -> ConsumerOptions:
        """The settings, with their defaults."""
        return self._receiving.options

    async def __aenter__(self) -> Self:
        self._receiving.check_open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # --- records -----------------------------------------------------------------------------------------------------

    def __aiter__(self) -> Self:
        self._receiving.check_open()
        return self

    async def __anext__(self) -> Record[Value]:
        idle, asked_at = self._receiving.idle, time.monotonic()
        while not self._receiving.is_stopped.is_set():
            remaining_s = idle.remaining_s(asked_at)
            record = await self.poll(_POLL_S if remaining_s is None else min(_POLL_S, remaining_s))
            if record is not None:
                return record
            if idle.remaining_s(asked_at) == 0.0:
                break
        raise StopAsyncIteration

    async def poll(self, timeout_s: float = _POLL_S) -> Record[Value] | None:
        """The next record, or None if none comes in time. Records given out before count as handled."""
        await self._ready(timeout_s)
        return self._receiving.take()

    async def poll_batch(self, max_records: int | None = None, timeout_s: float = _POLL_S) -> list[Record[Value]]:
        """Several records at once, none if none come in time. All that were given out before count as handled."""
        size = checked_size(max_records, self._receiving.options["max_poll_records"])
        await self._ready(timeout_s)
        return self._receiving.take_many(size)[0]

    async def _ready(self, timeout_s: float) -> None:
        check_polled(self._receiving)
        await self._rest()
        self._receiving.finish()
        if not self._receiving.is_ready:
            await self._wait(self._receiving.fill, timeout_s)

    def transaction(self, max_records: int | None = None, timeout_s: float = _POLL_S) -> AsyncTransaction[Value]:
        """See `Consumer.transaction`; here it is `async with consumer.transaction() as records`."""
        if self._producer is None:
            raise StateError("this consumer has no transactions", hint="make it with delivery='exactly-once'")
        work = Work(self._receiving, self._producer.transactional, max_records, timeout_s)
        return AsyncTransaction(work, self._wait)

    @property
    def skipped_count(self) -> int:
        """Records that `on_bad_record` has dealt with."""
        return self._receiving.reading.skipped_count

    # --- offsets and partitions --------------------------------------------------------------------------------------

    async def commit(self, record: Record[Value] | None = None) -> None:
        """Commit everything that was given out, or all of a partition up to this record, and wait for it."""
        await self._wait(self._receiving.commit, record)

    async def seek(self, topic: str, partition: int, to: Start) -> None:
        """Continue from an offset, a time, "earliest" or "latest", in a partition of this consumer."""
        await self._wait(self._receiving.seek, TopicPartition(topic, partition), to)

    def assignment(self) -> list[TopicPartition]:
        """The partitions of this consumer now; none before the first poll."""
        self._receiving.check_open()
        return sorted(self._receiving.membership.owned)

    async def pause(self, *places: TopicPartition) -> None:
        """Stop reading these partitions, and stay in the group. Records that were fetched already still come."""
        await self._wait(self._receiving.pause, places)

    async def resume(self, *places: TopicPartition) -> None:
        """Continue reading these partitions."""
        await self._wait(self._receiving.resume, places)

    # --- the end -----------------------------------------------------------------------------------------------------

    def stop(self) -> None:
        """End the iteration soon. May be called from anywhere."""
        self._receiving.is_stopped.set()

    async def close(self) -> None:
        """Commit the handled records and leave the group. Closing twice is not an error."""
        if self._receiving.is_closed:
            return
        self.stop()
        await self._wait(self._receiving.close)
        self._thread.shutdown(wait=False)


class AsyncTransaction(Generic[Value]):
    """The records of one transaction, to be iterated over within `async with`."""

    def __init__(self, work: Work[Value], wait: Callable[..., Any]) -> None:
        self._work = work
        self._wait = wait

    async def __aenter__(self) -> Self:
        try:
            await self._wait(self._work.begin)
        except asyncio.CancelledError:
            await self._wait(self._work.abort)  # when it has begun
            raise
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        await self._wait(self._work.commit if kind is None else self._work.abort)

    def __iter__(self) -> Iterator[Record[Value]]:
        return iter(self._work.records)

    def __len__(self) -> int:
        return len(self._work.records)

    @property
    def is_committed(self) -> bool:
        """Whether everything in it took effect; False within `async with`, and after an exception."""
        return self._work.is_committed
