"""BrokerClient: the push client for programs with threads.

One thread receives: it completes the calls of other threads, hands messages to the handler threads, sends heartbeats
and reconnects. The threads share the `wire`.
"""

from __future__ import annotations

import threading
import time
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
from penstock.client.push.connection.port_problem import PortProblem
from penstock.client.push.connection.wire import Wire
from penstock.client.push.connection.wire_socket import Stream, open_socket
from penstock.client.push.endpoint import PushEndpoint
from penstock.client.push.errors import BrokerClientError, ClientClosed, NotConnected
from penstock.client.push.handler_thread import Handler, HandlerThread, ResetHandler
from penstock.client.push.memberships import Membership, delivery_of, start_of
from penstock.client.push.message import Published
from penstock.client.push.publications import Publication
from penstock.protocol.push import messages

TICK_S = 0.5
LEAVE_S = 5.0
"""How long `disconnect` and `unsubscribe_from_subscription` wait for a handler that is at work."""


class BrokerClient(PushEndpoint):
    """Publishes messages, and calls handlers for those that are pushed. All methods are thread-safe, also in handlers.

    After `connect` it stays connected by itself: a broken connection is replaced, subscriptions are joined again,
    and messages that were being published are sent again without being stored twice.
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
    ) -> None:
        """`security` has properties under Kafka's names: security.protocol, sasl.username, ssl.ca.location …"""
        super().__init__(host, port, client_id, request_timeout, heartbeat_interval, security=security)
        self._lifecycle = threading.RLock()
        self._wire: Wire | None = None
        self._receiver: threading.Thread | None = None

    # --- the connection --------------------------------------------------------------------------------------------

    def connect(self) -> None:
        """Connect to the broker and log in, unless connected already. Raises NotConnected if there is no broker, and
        LoginFailed, which is one, if it does not let this client in."""
        with self._lifecycle:
            if self._core is not None:
                return
            opened = self._open()
            core, waiter = self._new_core(), _Waiter()
            core.await_login(waiter.call)
            core.connected(time.monotonic())
            problem = PortProblem(self.host, self.port, self._security, self.request_timeout)
            wire = self._wire = Wire(core, f"{self.host}:{self.port}", opened, self._open, problem)
            self._core = core
            self._receiver = threading.Thread(target=wire.receive_all, name="push-receiver", daemon=True)
            self._receiver.start()
            self._await_login(wire, waiter)

    def _await_login(self, wire: Wire, waiter: _Waiter) -> None:
        try:
            wire.flush()
            if not waiter.wait(self.request_timeout):
                raise NotConnected(f"no answer to the login within {self.request_timeout:g} s")
            waiter.call.result()
        except BaseException:
            self.disconnect()
            self._was_closed = False
            raise

    def disconnect(self) -> None:
        """Let handlers finish their current messages, acknowledge those, and leave. A second call has no effect."""
        with self._lifecycle:
            core, wire, receiver = self._core, self._wire, self._receiver
            if core is None or wire is None:
                return
            with wire.lock:
                threads = [membership.target for membership in core.memberships.values()]
            _end(threads)
            self._core, self._was_closed = None, True
            wire.leave("the client leaves")
            if receiver is not None and receiver is not threading.current_thread():
                receiver.join(LEAVE_S)

    def __enter__(self) -> Self:
        self.connect()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.disconnect()

    # --- topics and messages ---------------------------------------------------------------------------------------

    def create_topic(self, name: str, partitions: int = 1) -> bool:
        """Create a topic; False if it exists with as many partitions. TopicExists if it has another number of them."""
        if partitions < 1:
            raise ValueError(f"partitions is {partitions}: a topic has at least one")
        return bool(self._request(messages.CreateTopic(name, partitions)).created)

    def partition_count(self, topic: str) -> int:
        """The number of partitions of a topic. Raises UnknownTopic."""
        wire = self._running_wire()
        with wire.lock:
            known = wire.core.partition_counts.get(topic)
        return known or int(self._request(messages.CreateTopic(topic, 0)).partitions)

    def publish(
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
            self.partition_count(topic)
        wire = self._running_wire()
        waiter = _Waiter()
        with wire.lock:
            publication = self._publication(
                wire.core, topic, key_as_bytes, data, pairs, partition, timestamp, waiter.call
            )
            wire.core.publish(publication)
        published: Published = self._wait(wire, waiter, publication)
        return published

    def publish_text(self, topic: str, text: str, **properties: PropertyValue) -> Published:
        """Publish a text as UTF-8, with keyword arguments as properties."""
        return self.publish(topic, text.encode(), properties=properties)

    # --- subscriptions ---------------------------------------------------------------------------------------------

    def create_subscription(
        self, name: str, topic: str, start_offset: int | str | float = 0, *, delivery: str = "message"
    ) -> bool:
        """Create a subscription; False if the topic has it already. SubscriptionConflict if another topic has it.

        It begins at an offset, 'earliest', 'latest', or a time (seconds since 1970, a float). With `delivery` 'key' all
        messages of a key go to the same member.
        """
        value = messages.CreateSubscription(name, topic, start_of(start_offset), delivery_of(delivery))
        return bool(self._request(value).created)

    def delete_subscription(self, name: str) -> None:
        """Delete a subscription and its position; its members are disconnected.

        UnknownSubscription if there is none.
        """
        self._request(messages.DeleteSubscription(name))

    def subscribe_to_subscription(
        self,
        name: str,
        handler: Handler,
        *,
        credit: int = 0,
        messages_per_frame: int = 0,
        on_reset: ResetHandler | None = None,
    ) -> None:
        """Call `handler` for each message, on a thread of its own. When it returns the message is acknowledged; when it
        raises the broker sends the message again. `credit` messages may be unacknowledged (0: the broker's default)."""
        membership = Membership(target=None, name=name, credit=credit, messages_per_frame=messages_per_frame)
        self._join(membership, handler, on_reset)

    def subscribe(
        self,
        topic: str,
        handler: Handler,
        group: str | None = None,
        start_offset: int | str | float = 0,
        *,
        delivery: str = "message",
        credit: int = 0,
        messages_per_frame: int = 0,
        on_reset: ResetHandler | None = None,
    ) -> str:
        """Subscribe by topic and group: the subscription is created if it is missing. Returns its name."""
        membership = self._membership_of_topic(topic, group, start_offset, delivery, credit, messages_per_frame)
        return self._join(membership, handler, on_reset)

    def unsubscribe_from_subscription(self, name: str) -> None:
        """Let the handler finish its current message, and leave; the broker sends the rest to others."""
        wire = self._running_wire()
        with wire.lock:
            membership = wire.core.memberships.get(name)
        if membership is None:
            raise BrokerClientError(f"this client is not subscribed to {name}")
        _end([membership.target])
        self._request(messages.Unsubscribe(name))

    def commit_offset(self, name: str, partition: int, offset: int) -> None:
        """Set the position of a subscription that this client is in: the next message is this one."""
        self._request(messages.CommitOffset(name, partition, offset))

    def ready(self, name: str, refresh_id: int) -> None:
        """Answer a reset: everything up to its ends is durably stored by this client."""
        self._request(messages.Ready(name, refresh_id))

    def ask_refresh(self, name: str) -> None:
        """Ask the broker to send everything of a subscription again: each of its members gets a RESET."""
        self._request(messages.Reset(name, messages.ASKED_REFRESH, ()))

    def _join(self, membership: Membership, handler: Handler, on_reset: ResetHandler | None) -> str:
        if not callable(handler):
            raise TypeError("handler is called with each message: give a function")
        membership.is_ready_by_itself = on_reset is None
        wire = self._running_wire()
        name = membership.name or membership.group
        with wire.lock:
            if name in wire.core.memberships:
                raise BrokerClientError(f"this client is subscribed to {name} already")
        thread = membership.target = HandlerThread(
            name, handler, _acknowledger(wire, membership), lambda made: wire.core.generation == made, on_reset
        )
        waiter = _Waiter()
        with wire.lock:
            wire.core.subscribe(membership, waiter.call)
        try:
            self._wait(wire, waiter)
        except BaseException:
            thread.stop()
            raise
        thread.acknowledge_count = max(1, membership.credit // 2)
        return membership.name

    # --- requests --------------------------------------------------------------------------------------------------

    def _request(self, value: Any) -> Any:
        wire = self._running_wire()
        waiter = _Waiter()
        with wire.lock:
            wire.core.request(value, waiter.call)
        return self._wait(wire, waiter)

    def _wait(self, wire: Wire, waiter: _Waiter, publication: Publication | None = None) -> Any:
        wire.flush()
        if self._core is not wire.core:  # disconnected meanwhile by another thread
            waiter.call.fail(ClientClosed("this client was disconnected"))
        if waiter.wait(self.request_timeout):
            return waiter.call.result()
        with wire.lock:
            if waiter.call.done:
                return waiter.call.result()
            is_certain = wire.core.withdraw(waiter.call, publication)
        raise self._timed_out(wire.core, is_certain=is_certain)

    def _running_wire(self) -> Wire:
        self._running()
        assert self._wire is not None
        return self._wire

    def _open(self) -> Stream:
        return open_socket(
            self.host,
            self.port,
            self._security,
            connect_timeout_s=self.request_timeout,
            read_s=min(TICK_S, self.heartbeat_interval / 4),
            write_s=self.request_timeout,
        )


class _Waiter:
    """A thread that waits for a call. A lock is the cheapest event that Python has."""

    __slots__ = ("_lock", "call")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()
        self.call = Call(self._lock.release)

    def wait(self, timeout_s: float) -> bool:
        return self._lock.acquire(timeout=timeout_s)


def _acknowledger(wire: Wire, membership: Membership) -> Callable[[Acknowledgements], None]:
    def acknowledge(acknowledgements: Acknowledgements) -> None:
        with wire.lock:
            wire.core.acknowledge(membership.name, acknowledgements)
        wire.flush()

    return acknowledge


def _end(threads: list[HandlerThread]) -> None:
    for thread in threads:
        thread.stop()
    deadline = time.monotonic() + LEAVE_S
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
