"""AsyncBrokerClient: the push client on asyncio, with the names of BrokerClient.

Everything happens on the loop that `connect` was called on; the core needs no lock. Handlers are coroutine functions,
or plain functions that do not block, one call at a time for each subscription.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from penstock.client.push.acknowledgements import Acknowledgements
from penstock.client.push.arguments import (
    PropertiesArgument,
    PropertyValue,
    Text,
    body_bytes,
    key_bytes,
    property_pairs,
)
from penstock.client.push.backoff import Backoff
from penstock.client.push.calls import Call
from penstock.client.push.core import ClientCore, dispatch
from penstock.client.push.endpoint import PushEndpoint
from penstock.client.push.errors import BrokerClientError, NotConnected, ProtocolError
from penstock.client.push.handler_task import AsyncHandler, AsyncResetHandler, HandlerTask
from penstock.client.push.identity import new_epoch
from penstock.client.push.memberships import Membership, delivery_of, start_of
from penstock.client.push.message import Published
from penstock.client.push.publications import Publication
from penstock.client.push.wire_socket import connected, unreachable
from penstock.protocol.push import messages as wire

logger = logging.getLogger(__name__)

LEAVE_S = 5.0
ERRANDS_AFTER_S = 0.5
A_MOMENT_S = 0.001  # so that a timer is not a little early


class AsyncBrokerClient(PushEndpoint):
    """Publishes messages, and calls handlers for those that are pushed. Many `publish` may wait at the same time.

    After `connect` it stays connected by itself, as BrokerClient does.
    """

    def __init__(
        self,
        host: str = "localhost",
        port: int = 9999,
        client_id: str | None = None,
        request_timeout: float = 30,
        heartbeat_interval: float = 30,
    ) -> None:
        super().__init__(host, port, client_id, request_timeout, heartbeat_interval)
        self._transport: asyncio.Transport | None = None
        self._connection_task: asyncio.Task[None] | None = None
        self._gone: asyncio.Event = asyncio.Event()
        self._is_flushing = False
        self._has_errand_timer = False

    # --- the connection --------------------------------------------------------------------------------------------

    async def connect(self) -> None:
        """Connect to the broker, unless connected already. Raises NotConnected if there is no broker."""
        if self._core is not None:
            return
        core = self._core = ClientCore(
            client_id=self.client_id, epoch=new_epoch(), heartbeat_interval_s=self.heartbeat_interval
        )
        try:
            await self._open(core)
        except BaseException:
            self._core = None
            raise
        self._connection_task = asyncio.create_task(self._keep(core), name="push-connection")

    async def disconnect(self) -> None:
        """Let handlers finish their current messages, acknowledge those, and leave. A second call has no effect."""
        core, task = self._core, self._connection_task
        if core is None:
            return
        await self._end_handlers([membership.target for membership in core.memberships.values()])
        core.close("the client leaves")
        self._flush(core)
        self._core, self._was_closed = None, True
        if task is not None:
            task.cancel()
            await asyncio.wait([task])
        transport = self._transport
        if transport is not None and core.is_connected:
            transport.write_eof()
            try:
                await asyncio.wait_for(self._gone.wait(), 1.0)
            except TimeoutError:
                transport.abort()

    async def __aenter__(self) -> Self:
        await self.connect()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.disconnect()

    # --- topics and messages ---------------------------------------------------------------------------------------

    async def create_topic(self, name: str, partitions: int = 1) -> bool:
        """Create a topic; False if it exists with as many partitions. TopicExists if it has another number of them."""
        if partitions < 1:
            raise ValueError(f"partitions is {partitions}: a topic has at least one")
        return bool((await self._request(wire.CreateTopic(name, partitions))).created)

    async def partition_count(self, topic: str) -> int:
        """The number of partitions of a topic. Raises UnknownTopic."""
        known = self._running().partition_counts.get(topic)
        return known or int((await self._request(wire.CreateTopic(topic, 0))).partitions)

    async def publish(
        self,
        topic: str,
        body: Text | None,
        key: Text | None = None,
        properties: PropertiesArgument = None,
        *,
        partition: int | None = None,
        timestamp: int | None = None,
    ) -> Published:
        """Publish a message; it is on the broker's disk at return.

        The partition is that of the key, or the next in turn.
        """
        key_as_bytes = key_bytes(key)
        data, pairs = body_bytes(body), property_pairs(properties)
        if partition is None:
            await self.partition_count(topic)
        core = self._running()
        call, answer = self._new_call()
        publication = self._publication(core, topic, key_as_bytes, data, pairs, partition, timestamp, call)
        core.publish(publication)
        published: Published = await self._answer(core, call, answer, publication)
        return published

    async def publish_text(self, topic: str, text: str, **properties: PropertyValue) -> Published:
        """Publish a text as UTF-8, with keyword arguments as properties."""
        return await self.publish(topic, text.encode(), properties=properties)

    # --- subscriptions ---------------------------------------------------------------------------------------------

    async def create_subscription(
        self, name: str, topic: str, start_offset: int | str | float = 0, *, delivery: str = "message"
    ) -> bool:
        """Create a subscription; False if the topic has it already. SubscriptionConflict if another topic has it."""
        value = wire.CreateSubscription(name, topic, start_of(start_offset), delivery_of(delivery))
        return bool((await self._request(value)).created)

    async def delete_subscription(self, name: str) -> None:
        """Delete a subscription and its position; its members are disconnected.

        UnknownSubscription if there is none.
        """
        await self._request(wire.DeleteSubscription(name))

    async def subscribe_to_subscription(
        self,
        name: str,
        handler: AsyncHandler,
        *,
        credit: int = 0,
        messages_per_frame: int = 0,
        on_reset: AsyncResetHandler | None = None,
    ) -> None:
        """Call `handler` for each message. When it returns the message is acknowledged; when it raises the broker sends
        the message again. `credit` messages may be unacknowledged (0: the broker's default)."""
        membership = Membership(target=None, name=name, credit=credit, messages_per_frame=messages_per_frame)
        await self._join_with_handler(membership, handler, on_reset)

    async def subscribe(
        self,
        topic: str,
        handler: AsyncHandler,
        group: str | None = None,
        start_offset: int | str | float = 0,
        *,
        delivery: str = "message",
        credit: int = 0,
        messages_per_frame: int = 0,
        on_reset: AsyncResetHandler | None = None,
    ) -> str:
        """Subscribe by topic and group: the subscription is created if it is missing. Returns its name."""
        membership = self._membership_of_topic(topic, group, start_offset, delivery, credit, messages_per_frame)
        return await self._join_with_handler(membership, handler, on_reset)

    async def unsubscribe_from_subscription(self, name: str) -> None:
        """Let the handler finish the message in hand, and leave; the broker gives the rest to others."""
        membership = self._running().memberships.get(name)
        if membership is None:
            raise BrokerClientError(f"this client is not subscribed to {name}")
        await self._end_handlers([membership.target])
        await self._request(wire.Unsubscribe(name))

    async def commit_offset(self, name: str, partition: int, offset: int) -> None:
        """Set the position of a subscription that this client is in: the next message is this one."""
        await self._request(wire.CommitOffset(name, partition, offset))

    async def ready(self, name: str, refresh_id: int) -> None:
        """Answer a reset: everything up to its ends is durably stored by this client."""
        await self._request(wire.Ready(name, refresh_id))

    async def ask_refresh(self, name: str) -> None:
        """Ask the broker to send everything of a subscription again: each of its members gets a RESET."""
        await self._request(wire.Reset(name, wire.ASKED_REFRESH, ()))

    async def join(self, membership: Membership) -> str:
        """Subscribe without automatic acknowledgements: messages go to the membership's target. Returns the name."""
        core = self._running()
        name = membership.name or membership.group
        if name in core.memberships:
            raise BrokerClientError(f"this client is subscribed to {name} already")
        call, answer = self._new_call()
        core.subscribe(membership, call)
        await self._answer(core, call, answer)
        return membership.name

    def acknowledge(self, name: str, acknowledgements: Acknowledgements) -> None:
        """Acknowledge messages of a subscription that was joined with `join`."""
        core = self._core
        if core is not None:
            core.acknowledge(name, acknowledgements)
            self._flush(core)

    @property
    def generation(self) -> int:
        """The generation of the connection; messages of an earlier one need not be acknowledged."""
        return 0 if self._core is None else self._core.generation

    async def _join_with_handler(
        self, membership: Membership, handler: AsyncHandler, on_reset: AsyncResetHandler | None
    ) -> str:
        if not callable(handler):
            raise TypeError("handler is called with each message: give a function")
        membership.is_ready_by_itself = on_reset is None
        core = self._running()
        task = membership.target = HandlerTask(
            membership.name or membership.group,
            handler,
            lambda done: self.acknowledge(membership.name, done),
            lambda generation: core.generation == generation,
            on_reset,
        )
        try:
            name = await self.join(membership)
        except BaseException:
            task.stop()
            raise
        task.acknowledge_count = max(1, membership.credit // 2)
        return name

    # --- requests --------------------------------------------------------------------------------------------------

    async def _request(self, value: Any) -> Any:
        core = self._running()
        call, answer = self._new_call()
        core.request(value, call)
        return await self._answer(core, call, answer)

    def _new_call(self) -> tuple[Call, asyncio.Future[None]]:
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def finished() -> None:
            if not answer.done():
                answer.set_result(None)

        return Call(finished), answer

    async def _answer(
        self, core: ClientCore, call: Call, answer: asyncio.Future[None], publication: Publication | None = None
    ) -> Any:
        self._flush_soon(core)
        try:
            async with asyncio.timeout(self.request_timeout):
                await answer
        except TimeoutError:
            if not call.done:
                is_certain = core.withdraw(call, publication)
                raise self._timed_out(core, is_certain=is_certain) from None
        except asyncio.CancelledError:
            core.withdraw(call, publication)
            raise
        return call.result()

    async def _end_handlers(self, targets: list[Any]) -> None:
        tasks = [target for target in targets if isinstance(target, HandlerTask)]
        for task in tasks:
            task.stop()
        for task in tasks:
            await task.join(LEAVE_S)

    # --- the wire --------------------------------------------------------------------------------------------------

    async def _open(self, core: ClientCore) -> None:
        gone = self._gone = asyncio.Event()
        try:
            async with asyncio.timeout(self.request_timeout):
                transport = await self._connect(lambda: _Wire(self, core, gone))
        except OSError as error:  # a timeout is one
            raise unreachable(self.host, self.port, error) from error
        self._transport = transport
        if core.is_connected:  # the previous connection ended before it was used
            core.disconnected()
        core.connected(time.monotonic())
        self._flush(core)

    async def _connect(self, make: Callable[[], asyncio.Protocol]) -> asyncio.Transport:
        loop = asyncio.get_running_loop()
        if self.port:
            return (await loop.create_connection(make, self.host, self.port))[0]
        stream = await asyncio.to_thread(connected, self.host, self.port, self.request_timeout)
        stream.setblocking(False)
        return (await loop.create_connection(make, sock=stream))[0]

    def _flush_soon(self, core: ClientCore) -> None:
        """Schedule one flush for all requests of this turn of the loop."""
        if not self._is_flushing:
            self._is_flushing = True
            asyncio.get_running_loop().call_soon(self._flush, core)

    def _flush(self, core: ClientCore) -> None:
        self._is_flushing = False
        data = core.data_to_send(time.monotonic())
        if data and self._transport is not None:
            self._transport.write(data)

    def _received(self, core: ClientCore, data: bytes) -> None:
        try:
            events = core.received(data, time.monotonic())
        except ProtocolError as error:
            logger.error("%s", error)
            core.failed(error, new_epoch())
            self._abort()
            return
        for event in events:
            dispatch(event)
        if core.has_output:
            self._flush(core)
        if core.has_errands and not self._has_errand_timer:
            self._has_errand_timer = True
            asyncio.get_running_loop().call_later(ERRANDS_AFTER_S, self._run_errands, core)

    def _run_errands(self, core: ClientCore) -> None:
        self._has_errand_timer = False
        if core.is_connected and core.tick(time.monotonic()):
            self._flush(core)

    def _abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    async def _keep(self, core: ClientCore) -> None:
        """Send heartbeats while there is a connection, and try to connect while there is none."""
        backoff = Backoff()
        while True:
            try:
                async with asyncio.timeout(core.due_in(time.monotonic()) + A_MOMENT_S):
                    await self._gone.wait()
            except TimeoutError:
                if core.tick(time.monotonic()):
                    self._flush(core)
                    continue
                logger.warning("the broker has been silent for %.0f s", 3 * self.heartbeat_interval)
                self._abort()
                await self._gone.wait()
            logger.warning("connection to %s:%d lost; connecting again", self.host, self.port)
            if core.has_heard:
                backoff.reset()
            await self._reconnect(core, backoff)

    async def _reconnect(self, core: ClientCore, backoff: Backoff) -> None:
        while True:
            await asyncio.sleep(backoff.next_s())
            try:
                return await self._open(core)
            except NotConnected as error:
                logger.debug("%s", error)


class _Wire(asyncio.Protocol):
    """The protocol object that asyncio drives; it passes received bytes on to a queue."""

    def __init__(self, client: AsyncBrokerClient, core: ClientCore, gone: asyncio.Event) -> None:
        self._client = client
        self._core = core
        self._gone = gone

    def data_received(self, data: bytes) -> None:
        self._client._received(self._core, data)

    def connection_lost(self, error: Exception | None) -> None:
        self._core.disconnected()
        self._gone.set()
