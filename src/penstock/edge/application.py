"""The application as a whole: store, handler, feed and their status; up in order, down in reverse.

The port is not opened here: `node.edge_server` serves the API that `api` builds from this.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Protocol

from penstock.consumers.metrics import ConsumerMetrics
from penstock.edge.errors import EdgeError
from penstock.edge.feed import Feed
from penstock.edge.handlers import Handler
from penstock.edge.http.bodies import HealthBody, RefreshBody, StatsBody
from penstock.edge.http.message_json import shown_time
from penstock.edge.metrics import EdgeMetrics
from penstock.edge.reading import Reader
from penstock.edge.settings import EdgeSettings
from penstock.edge.store import Store
from penstock.observability.metrics import BrokerMetrics, Probe

logger = logging.getLogger(__name__)

KEYS_MAX, RESTORED_BYTES_MAX = 100_000, 64 << 20
"""Limits of the last messages that a handler gets when it starts."""


class Port(Probe, Protocol):
    """The port at which the application is served."""

    def problems(self) -> list[str]: ...


class Application:
    """Implements `api.EdgeService`."""

    def __init__(
        self, settings: EdgeSettings, store: Store, handler: Handler, shared: BrokerMetrics, port: Port
    ) -> None:
        self.settings = settings
        self.store = store
        self._handler = handler
        self._shared = shared
        handlers = ConsumerMetrics()
        self._feed = Feed(settings, store, handler, handlers, self._restore)
        self._port = port
        self._metrics = EdgeMetrics(settings.type, store, self._feed, shared, handlers, port)
        self._running: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start, and return when requests can be answered; the index may be incomplete and the broker away."""
        await self.store.start()
        self._shared.loop_lag.start(asyncio.get_running_loop())
        self._running = asyncio.create_task(self._run(), name="feed")

    async def stop(self) -> None:
        """Finish the messages in hand, acknowledge them, leave the subscription; then close the store."""
        self._feed.stop()
        if self._running is not None:
            await asyncio.wait([self._running])
        self._shared.loop_lag.stop()
        await self.store.close()

    async def _run(self) -> None:
        try:
            await self._restore()
            await self._feed.run()
        except Exception:
            logger.exception("the feed ended unexpectedly")

    async def _restore(self) -> None:
        if not self._handler.can_restore:
            return
        try:
            await self._handler.restore(await Reader(self.store).latest_of_each_key(KEYS_MAX, RESTORED_BYTES_MAX))
        except EdgeError as error:
            logger.warning("the handler begins without what is stored: %s", error)

    # --- status ----------------------------------------------------------------------------------------------------

    def ask_refresh(self) -> str:
        return self._feed.ask_refresh()

    def metrics(self) -> bytes:
        return self._metrics.page()

    def health(self) -> HealthBody:
        active = self.store.active
        found = (self._feed.problem(), self._feed.refusal, active.problem)
        problems = [problem for problem in found if problem is not None]
        problems += self._port.problems()
        if self._running is not None and self._running.done() and not problems:
            problems.append("the feed has ended; start the application again")
        is_ready = active.is_indexed
        if not is_ready:
            problems.append(f"the index is being built: {active.covered} of {active.end} messages")
        return HealthBody(
            status="ready" if is_ready else "not ready",
            live=True,
            ready=is_ready,
            connected=self._feed.is_connected,
            broker=self.settings.broker,
            feed=self._feed.says,
            last_message=self._last_message(),
            problems=list(dict.fromkeys(problems)),
        )

    def stats(self) -> StatsBody:
        store, counts = self.store, self._feed.counts
        active = store.active
        return StatsBody(
            type=self.settings.type,
            topic=self.settings.topic,
            group=self.settings.group,
            generation=active.identity.number,
            messages=active.end - active.data.log_start,
            log_start=active.data.log_start,
            log_end=active.end,
            positions={partition: offset + 1 for partition, offset in sorted(active.highest.items())},
            size_bytes=active.data.size_bytes,
            segments=active.data.segment_count,
            indexed=active.covered,
            index_bytes=0 if active.index is None else active.index.size_bytes(),
            received=counts.received,
            stored=counts.stored,
            duplicates=counts.duplicates,
            last_message=self._last_message(),
            refreshes=counts.refreshes,
            refresh=self._refresh(),
            handler=self._handler.stats(),
        )

    def _refresh(self) -> RefreshBody | None:
        refresh = self.store.state.refresh
        if refresh is None:
            return None
        target = self.store.target
        return RefreshBody(
            id=refresh.id,
            generation=target.identity.number,
            messages=target.end,
            positions={partition: offset + 1 for partition, offset in sorted(target.highest.items())},
            ends=dict(refresh.ends),
        )

    def _last_message(self) -> str | None:
        last = self._feed.counts.last_message_ms
        return None if last is None else shown_time(last)
