"""The application's part in a refresh, on one connection: RESET, the switch, READY.

READY is owed from the switch on, until the broker has taken it; it refuses it while it waits for acknowledgements.
Where the last messages below the ends do not exist any more (expired, compacted away, given to another member), none
comes that is at or past the ends. So when nothing has come for a while READY is tried before the switch: the broker
takes it only if nothing is left to be sent, and says so again however often it is asked.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from penstock.client.push.async_client import AsyncBrokerClient
from penstock.client.push.errors import BrokerClientError, BrokerRefused
from penstock.edge.store import Store
from penstock.protocol.push.messages import Reset

log = logging.getLogger(__name__)

ANSWER_SECONDS = 5.0
OWED_PAUSE_SECONDS = 0.05
QUIET_SECONDS = 1.0
QUIET_SECONDS_MAX = 30.0


class Refreshing:
    """Of one connection. `now` is a monotonic time in seconds."""

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
        """Messages, or the connection itself."""
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
        """When `advance` has something to do by itself."""
        if self._owed is not None:
            return max(self._not_before, now)
        if self._store.state.refresh is not None:
            return max(now, self._last_message + self._quiet)
        return None

    async def advance(self, now: float) -> None:
        """Switch, say READY, or try it."""
        if self._store.is_refreshed():
            self._owed = await self._store.complete_refresh()
            await self._switched()
        refresh = self._store.state.refresh
        if self._owed is not None:
            if now >= self._not_before and await self._ready(self._owed):
                self._owed = None
            self._not_before = now + OWED_PAUSE_SECONDS
        elif refresh is not None and now >= self._last_message + self._quiet:
            self._quiet = min(2 * self._quiet, QUIET_SECONDS_MAX)
            self._last_message = now
            if await self._ready(refresh.id):
                log.info("nothing is left below the ends of the refresh", extra={"refresh": refresh.id})
                await self._store.complete_refresh()
                await self._switched()

    async def _ready(self, refresh_id: int) -> bool:
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await self._client.ready(self._subscription, refresh_id)
        except BrokerRefused as refused:
            log.debug("READY %d: %s", refresh_id, refused)
            return False
        except (BrokerClientError, TimeoutError) as error:
            log.info("READY %d was not answered: %s", refresh_id, error)
            return False
        log.info("ready", extra={"refresh": refresh_id})
        return True
