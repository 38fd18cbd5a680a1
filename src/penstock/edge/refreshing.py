"""The application's part in a refresh, on one connection: RESET, READY, the switch.

Only the broker knows when nothing below the ends is left to come: messages may come out of order (one that another
member gave back), and those just below an end may not exist any more (expired, compacted away, another member's). So
READY is sent first, and the switch follows when the broker has accepted it, which it does only if everything that it
has sent below the ends is acknowledged, and therefore on disk here. It accepts READY however often it is sent: killed
between READY and the switch, the application sends it once more and switches.

READY is tried when there are messages at or past all ends, and otherwise when none has come for a while.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from penstock.client.push.async_client import AsyncBrokerClient
from penstock.client.push.errors import BrokerClientError, BrokerRefused
from penstock.edge.store import Store
from penstock.protocol.push.messages import Reset
from penstock.runtime.pauses import pause_at

logger = logging.getLogger(__name__)

ANSWER_SECONDS = 5.0
PAUSE_SECONDS = 0.05
QUIET_SECONDS = 1.0
QUIET_SECONDS_MAX = 30.0


class Refreshing:
    """The refresh on one connection. `now` is a monotonic time in seconds."""

    def __init__(
        self, store: Store, client: AsyncBrokerClient, subscription: str, switched: Callable[[], Awaitable[None]]
    ) -> None:
        self._store = store
        self._client = client
        self._subscription = subscription
        self._switched = switched
        self._owed: int | None = None
        self._not_before = 0.0
        self._quiet = QUIET_SECONDS
        self._last_message = 0.0

    def came(self, now: float) -> None:
        """Note the arrival of messages, or of the connection itself."""
        self._last_message = now
        self._quiet = QUIET_SECONDS

    async def reset(self, reset: Reset) -> None:
        """Unstorable if the disk does not take it."""
        ends = {
            partition: end
            for topic in reset.topics
            if topic.topic == self._store.state.topic
            for partition, end in topic.ends
        }
        if await self._store.begin_refresh(reset.refresh_id, ends):
            self._owed = reset.refresh_id

    def next_look(self, now: float) -> float | None:
        """Time at which `advance` has to be called without an event; None if there is none."""
        if self._owed is not None or self._store.is_refreshed():
            return max(self._not_before, now)
        if self._store.state.refresh is not None:
            return max(now, self._last_message + self._quiet)
        return None

    async def advance(self, now: float) -> None:
        """Send READY if it may be due, and switch if the broker accepts it."""
        if self._owed is not None and now >= self._not_before:
            if await self._ready(self._owed):
                self._owed = None
            self._not_before = now + PAUSE_SECONDS
        refresh = self._store.state.refresh
        if refresh is None or not self._is_due(now):
            return
        pause_at("edge-filled")
        if await self._ready(refresh.id):
            await self._store.complete_refresh()
            await self._switched()

    def _is_due(self, now: float) -> bool:
        if self._store.is_refreshed():
            is_due = now >= self._not_before
            self._not_before = max(self._not_before, now + PAUSE_SECONDS if is_due else 0)
            return is_due
        if now < self._last_message + self._quiet:
            return False
        self._quiet = min(2 * self._quiet, QUIET_SECONDS_MAX)
        self._last_message = now
        return True

    async def _ready(self, refresh_id: int) -> bool:
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await self._client.ready(self._subscription, refresh_id)
        except BrokerRefused as refused:
            logger.debug("READY %d: %s", refresh_id, refused)
            return False
        except (BrokerClientError, TimeoutError) as error:
            logger.info("READY %d was not answered: %s", refresh_id, error)
            return False
        logger.info("ready", extra={"refresh": refresh_id})
        return True
