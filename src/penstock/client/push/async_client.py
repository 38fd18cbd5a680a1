"""AsyncBrokerClient: the push client on asyncio, with the names of BrokerClient.

Everything happens on the loop that `connect` was called on; `async_wire` has the connection. Handlers are coroutine
functions, or plain functions that do not block, one call at a time for each subscription.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Mapping
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
from penstock.client.push.calls import Call
from penstock.client.push.connection.async_wire import AsyncWire
from penstock.client.push.endpoint import PushEndpoint
from penstock.client.push.errors import BrokerClientError
from penstock.client.push.handler_task import AsyncHandler, AsyncResetHandler, HandlerTask
from penstock.client.push.memberships import Membership, delivery_of, start_of
from penstock.client.push.message import Published
from penstock.client.push.publications import Publication
from penstock.protocol.push import messages

LEAVE_S = 5.0
"""How long `disconnect` and `unsubscribe_from_subscription` wait for a handler that is at work."""


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
        *,
        security: Mapping[str, str] | None = None,
        dial: Callable[[], socket.socket] | None = None,
    ) -> None:
        """`security` has properties under Kafka's names: security.protocol, sasl.username, ssl.ca.location …

        `dial` returns a connected socket that does not block, in place of a connection to the address.
        """
        super().__init__(host, port, client_id, request_timeout, heartbeat_interval, security=security, dial=dial)
        self._wire: AsyncWire | None = None

    # --- the connection --------------------------------------------------------------------------------------------

    async def connect(self) -> None:
        """Connect to the broker and log in, unless connected already. Raises NotConnected if there is no broker, and
        LoginFailed, which is one, if it does not let this client in."""
        if self._core is not None:
            return
        core = self._core = self._new_core()
        wire = self._wire = AsyncWire(core, self, self._security)
        try:
            await wire.start()
        except BaseException:
            self._core = self._wire = None
            raise

    async def disconnect(self) -> None:
        """Let handlers finish their current messages, acknowledge those, and leave. A second call has no effect."""
        wire = self._wire
        if wire is None:
            return
        await self._end_handlers([membership.target for membership in wire.core.memberships.values()])
        self._core = self._wire = None
        self._was_closed = True
        await wire.leave("the client leaves")

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
        return bool((await self._request(messages.CreateTopic(name, partitions))).created)

    async def partition_count(self, topic: str) -> int:
        """The number of partitions of a topic. Raises UnknownTopic."""
        known = self._running().partition_counts.get(topic)
        return known or int((await self._request(messages.CreateTopic(topic, 0))).partitions)

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
        wire = self._running_wire()
        call, answer = self._new_call()
        publication = self._publication(wire.core, topic, key_as_bytes, data, pairs, partition, timestamp, call)
        wire.core.publish(publication)
        published: Published = await self._answer(wire, call, answer, publication)
        return published

    async def publish_text(self, topic: str, text: str, **properties: PropertyValue) -> Published:
        """Publish a text as UTF-8, with keyword arguments as properties."""
        return await self.publish(topic, text.encode(), properties=properties)

    # --- subscriptions ---------------------------------------------------------------------------------------------

    async def create_subscription(
        self, name: str, topic: str, start_offset: int | str | float = 0, *, delivery: str = "message"
    ) -> bool:
        """Create a subscription; False if the topic has it already. SubscriptionConflict if another topic has it."""
        value = messages.CreateSubscription(name, topic, start_of(start_offset), delivery_of(delivery))
        return bool((await self._request(value)).created)

    async def delete_subscription(self, name: str) -> None:
        """Delete a subscription and its position; its members are disconnected.

        UnknownSubscription if there is none.
        """
        await self._request(messages.DeleteSubscription(name))

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
        await self._request(messages.Unsubscribe(name))

    async def commit_offset(self, name: str, partition: int, offset: int) -> None:
        """Set the position of a subscription that this client is in: the next message is this one."""
        await self._request(messages.CommitOffset(name, partition, offset))

    async def ready(self, name: str, refresh_id: int) -> None:
        """Answer a reset: everything up to its ends is durably stored by this client."""
        await self._request(messages.Ready(name, refresh_id))

    async def ask_refresh(self, name: str) -> None:
        """Ask the broker to send everything of a subscription again: each of its members gets a RESET."""
        await self._request(messages.Reset(name, messages.ASKED_REFRESH, ()))

    async def join(self, membership: Membership) -> str:
        """Subscribe without automatic acknowledgements: messages go to the membership's target. Returns the name."""
        wire = self._running_wire()
        name = membership.name or membership.group
        if name in wire.core.memberships:
            raise BrokerClientError(f"this client is subscribed to {name} already")
        call, answer = self._new_call()
        wire.core.subscribe(membership, call)
        await self._answer(wire, call, answer)
        return membership.name

    def acknowledge(self, name: str, acknowledgements: Acknowledgements) -> None:
        """Acknowledge messages of a subscription that was joined with `join`."""
        wire = self._wire
        if wire is not None:
            wire.core.acknowledge(name, acknowledgements)
            wire.flush()

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
        wire = self._running_wire()
        call, answer = self._new_call()
        wire.core.request(value, call)
        return await self._answer(wire, call, answer)

    def _new_call(self) -> tuple[Call, asyncio.Future[None]]:
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def finished() -> None:
            if not answer.done():
                answer.set_result(None)

        return Call(finished), answer

    async def _answer(
        self, wire: AsyncWire, call: Call, answer: asyncio.Future[None], publication: Publication | None = None
    ) -> Any:
        wire.flush_soon()
        try:
            async with asyncio.timeout(self.request_timeout):
                await answer
        except TimeoutError:
            if not call.done:
                is_certain = wire.core.withdraw(call, publication)
                raise self._timed_out(wire.core, is_certain=is_certain) from None
        except asyncio.CancelledError:
            wire.core.withdraw(call, publication)
            raise
        return call.result()

    def _running_wire(self) -> AsyncWire:
        wire = self._wire
        if wire is None:
            self._running()  # raises, and says why
        assert wire is not None
        return wire

    async def _end_handlers(self, targets: list[Any]) -> None:
        tasks = [target for target in targets if isinstance(target, HandlerTask)]
        for task in tasks:
            task.stop()
        for task in tasks:
            await task.join(LEAVE_S)
