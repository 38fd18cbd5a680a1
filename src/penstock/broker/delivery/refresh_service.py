"""Refreshes of subscriptions, durable in their rows: from the question to the last READY."""

from __future__ import annotations

import logging

from penstock.broker.broker import Broker
from penstock.broker.delivery.background import Background
from penstock.broker.delivery.commits import Commits
from penstock.broker.delivery.core.member import Member
from penstock.broker.delivery.core.refresh import Refresh, encode_ends
from penstock.broker.delivery.definitions import Definitions
from penstock.broker.delivery.live_subscription import LiveSubscription
from penstock.broker.delivery.locks import Locks
from penstock.broker.delivery.registry import Lives

log = logging.getLogger(__name__)


class Refreshes:
    def __init__(self, broker: Broker, definitions: Definitions, lives: Lives, commits: Commits, locks: Locks) -> None:
        self._broker = broker
        self._definitions = definitions
        self._lives = lives
        self._commits = commits
        self._locks = locks
        self._background = Background()

    def stop(self) -> None:
        self._background.cancel()

    async def begin(self, name: str) -> Refresh:
        """Durable when this returns; members are told when nothing of before is in flight."""
        async with self._locks.of(name):
            row = self._definitions.find(name)
            topic = self._definitions.topic(row.topic)
            partitions = [self._broker.partitions.get(row.topic, index) for index in range(topic.partition_count)]
            ends = {partition.index: partition.last_stable for partition in partitions}
            refresh = Refresh(row.refresh_id + 1, ends)
            await self._definitions.put(row._replace(refresh_id=refresh.refresh_id, refresh_ends=encode_ends(ends)))
            live = self._lives.get(name)
            if live is not None:
                starts = {partition.index: partition.log_start for partition in partitions}
                live.core.refreshing.begin(refresh, starts, live.now_ms)
                live.wake()
            log.info("refresh %d of subscription %s", refresh.refresh_id, name)
            return refresh

    async def ready(self, live: LiveSubscription, member: Member, refresh_id: int) -> None:
        """Durable when this returns: everything below the ends is done, and if all are ready the refresh is over."""
        row = self._definitions.find(live.name)
        if row.refresh_id == refresh_id and row.refresh_ends is None:
            return  # it is over; the answer to an earlier READY was lost
        live.core.refreshing.ready(member, refresh_id)
        await self._commits.now(live)
        if live.core.refreshing.is_over:
            await self._finish(live)

    def finish_soon(self, live: LiveSubscription) -> None:
        """The last of several members has done its part."""
        self._background.start(self._finish(live))

    async def _finish(self, live: LiveSubscription) -> None:
        await self._commits.now(live)
        async with self._locks.of(live.name):
            row, refresh = self._definitions.get(live.name), live.core.state.refresh
            if row is None or refresh is None or row.refresh_id != refresh.refresh_id:
                return
            await self._definitions.put(row._replace(refresh_ends=None))
            live.finished_refresh()
            log.info("refresh %d of subscription %s is over", refresh.refresh_id, live.name)
