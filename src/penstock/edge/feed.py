"""The push connection to the broker: messages are stored, then handled, then acknowledged.

    DATA → inbox → store (one batch, one sync for all that is there) → handler → ACK

Nothing is acknowledged before it is on disk. The client connects again by itself while the broker is away; the feed
leaves only when it cannot store (a full disk, a failed flush, a topic that was created again), and comes back when it
can: messages that were not acknowledged are delivered again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from penstock.client.push.async_client import AsyncBrokerClient
from penstock.client.push.connection.backoff import Backoff
from penstock.client.push.errors import BrokerClientError, UnknownSubscription
from penstock.client.push.message import Message
from penstock.consumers.metrics import ConsumerMetrics
from penstock.consumers.worker import Worker
from penstock.edge.errors import Diverged, Unstorable
from penstock.edge.handlers import Handler
from penstock.edge.messages import Incoming, Place
from penstock.edge.refreshing import Refreshing
from penstock.edge.refusal import refusal_of
from penstock.edge.settings import EdgeSettings
from penstock.edge.store import Store
from penstock.protocol.push.messages import Reset
from penstock.runtime.pauses import pause_at

logger = logging.getLogger(__name__)

_SUBSCRIBED = "subscribed"

BATCH_MESSAGES_MAX = 1_000
STOP_SECONDS = 10.0
DRAIN_SECONDS = 2.0
"""Time for the messages in hand at the end; those that need a retry are delivered again."""
LOOK_SECONDS = 1.0
"""Interval of the check whether storing is possible again."""


@dataclass(slots=True)
class FeedCounts:
    received: int = 0
    stored: int = 0
    duplicates: int = 0
    stored_bytes: int = 0
    sessions: int = 0
    refreshes: int = 0
    last_message_ms: int | None = None


class Feed:
    """The subscription's target: `run` lasts until `stop`."""

    def __init__(
        self,
        settings: EdgeSettings,
        store: Store,
        handler: Handler,
        metrics: ConsumerMetrics,
        restore: Callable[[], Awaitable[None]],
    ) -> None:
        self.state = "starting"
        self._refusal: str | None = None  # of the last session, until the next one has subscribed
        self.counts = FeedCounts()
        self._settings = settings
        self._store = store
        self._handler = handler
        self._restore = restore
        definition = handler.definition
        self._probe = metrics.probe(definition.name, settings.topic, settings.group)
        self._client: AsyncBrokerClient | None = None
        self._inbox: deque[list[Message] | Reset] = deque()
        self._wake = asyncio.Event()
        self._is_stopping = False
        self._lost: Exception | None = None
        self._diverged: str | None = None
        self._is_refresh_wanted = False
        self._is_reset_awaited = False

    @property
    def is_connected(self) -> bool:
        return self._client is not None and self._client.is_connected

    @property
    def says(self) -> str:
        """State of the connection in words."""
        if self.state != _SUBSCRIBED:
            return self.state
        again = None if self.is_connected else f"connecting again to {self._settings.broker}"
        return self.refusal or again or self.state  # the client reconnects by itself

    @property
    def refusal(self) -> str | None:
        """Why the broker does not let this application subscribe, with the fix; None if it does, or is away."""
        error = None if self._client is None else self._client.refusal
        return self._refusal if error is None else refusal_of(error, self._settings)

    def problem(self) -> str | None:
        """Reason why nothing is taken from the broker now, other than its absence."""
        return self._diverged or self._store.problem()

    def ask_refresh(self) -> str:
        self._is_refresh_wanted = True
        self._wake.set()
        if self.is_connected:
            return "the broker is asked to send everything once more; /stats shows how far it is"
        return "the broker is away; it is asked as soon as it is there"

    # --- the target ------------------------------------------------------------------------------------------------

    def deliver(self, messages: list[Message]) -> None:
        self._inbox.append(messages)
        self._wake.set()

    def reset(self, reset: Reset) -> None:
        self._inbox.append(reset)
        self._wake.set()

    def lost(self, error: Exception) -> None:
        self._lost = error
        self._wake.set()

    # --- lifecycle -------------------------------------------------------------------------------------------------

    def stop(self) -> None:
        self._is_stopping = True
        self._wake.set()

    async def run(self) -> None:
        backoff = Backoff()
        while not self._is_stopping:
            problem = self.problem()
            if problem is not None and not (self._is_refresh_wanted or self._is_reset_awaited):
                self._says(f"waiting: {problem}")
                await self._pause(LOOK_SECONDS)
                continue
            try:
                await self._session(backoff)
            except Diverged as error:
                self._diverged = str(error)
                logger.error("%s", error)
            except (BrokerClientError, Unstorable) as error:
                refusal = self._refusal = refusal_of(error, self._settings)
                self._says(refusal or str(error), logging.INFO if refusal is None else logging.ERROR)
                await self._pause(backoff.next_s())
        self._says("stopped")

    async def _session(self, backoff: Backoff) -> None:
        """Serve from the first connection until something is wrong that reconnecting does not cure."""
        if self.state == "starting":
            self._says(f"connecting to {self._settings.broker}")
        settings = self._settings
        client = AsyncBrokerClient(settings.broker_host, settings.broker_port, security=settings.security)
        worker = Worker(self._handler.definition, client, self._probe, self.lost)
        self._inbox.clear()
        self._lost = None
        try:
            await client.connect()
            self._client = client
            await self._ask_before_joining(client)
            await worker.start(self)
            self._refusal = None
            self._says(_SUBSCRIBED)
            self.counts.sessions += 1
            backoff.reset()
            await self._consume(client, worker)
            await worker.drain(DRAIN_SECONDS)
        finally:
            self._client = None
            await worker.stop(STOP_SECONDS)
            await client.disconnect()

    async def _ask_before_joining(self, client: AsyncBrokerClient) -> None:
        """Ask for a refresh first, so that RESET precedes all messages: those may be just what cannot be stored."""
        if self._is_refresh_wanted:
            try:
                await self._ask(client)
            except UnknownSubscription:
                self._diverged = None  # a new one begins at the beginning; it is asked for again when it is there

    async def _ask(self, client: AsyncBrokerClient) -> None:
        await client.ask_refresh(self._settings.group)
        self._is_refresh_wanted, self._is_reset_awaited = False, True
        self._diverged = None

    async def _consume(self, client: AsyncBrokerClient, worker: Worker) -> None:
        refreshing = Refreshing(self._store, client, self._settings.group, self._refreshed)
        refreshing.came(time.monotonic())
        while not self._is_stopping:
            if self._lost is not None:
                raise BrokerClientError(f"the subscription was lost: {self._lost}")
            if self._is_refresh_wanted:
                await self._ask(client)
            await self._take(worker, refreshing)
            now = time.monotonic()
            await refreshing.advance(now)
            if not self._inbox:
                await self._sleep(refreshing.next_look(now), now)

    async def _sleep(self, until: float | None, now: float) -> None:
        self._wake.clear()
        if self._inbox or self._is_stopping:
            return
        try:
            async with asyncio.timeout(None if until is None else max(0.01, until - now)):
                await self._wake.wait()
        except TimeoutError:
            pass

    async def _take(self, worker: Worker, refreshing: Refreshing) -> None:
        """Take everything in the inbox, in order: messages sent before a RESET belong to the old data."""
        while self._inbox:
            first = self._inbox.popleft()
            if isinstance(first, Reset):
                self._is_reset_awaited = False
                await refreshing.reset(first)
                await refreshing.advance(time.monotonic())
                continue
            messages = list(first)
            while self._inbox and len(messages) < BATCH_MESSAGES_MAX:
                following = self._inbox[0]
                if isinstance(following, Reset) or following[0].generation != messages[0].generation:
                    break
                messages += following
                self._inbox.popleft()
            refreshing.came(time.monotonic())
            await self._store_all(messages)
            pause_at("edge-stored")
            worker.deliver(messages)

    async def _store_all(self, messages: list[Message]) -> None:
        counts = self.counts
        fresh = await self._store.store([_incoming(message) for message in messages])
        counts.received += len(messages)
        counts.stored += len(fresh)
        counts.duplicates += len(messages) - len(fresh)
        counts.stored_bytes += sum(len(message.body or b"") for message in fresh)
        counts.last_message_ms = time.time_ns() // 1_000_000

    async def _refreshed(self) -> None:
        self.counts.refreshes += 1
        await self._restore()

    async def _pause(self, seconds: float) -> None:
        self._wake.clear()
        if self._is_stopping:
            return
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            pass

    def _says(self, state: str, level: int = logging.INFO) -> None:
        if state != self.state:
            self.state = state
            logger.log(level, "%s", state)


def _incoming(message: Message) -> Incoming:
    headers = tuple((name.decode("utf-8", "surrogateescape"), value) for name, value in message.headers)
    place = Place(message.partition, message.sequence_number)
    return Incoming(place, message.timestamp, message.key, message.body, headers)
