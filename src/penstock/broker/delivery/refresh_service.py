"""Refreshes of subscriptions, durable in their rows: from the request to the last READY."""

from __future__ import annotations

import logging
from typing import Final, NamedTuple

from penstock.broker.delivery.commits import Commits
from penstock.broker.delivery.core.member import Member
from penstock.broker.delivery.core.refresh import Refresh, encode_ends
from penstock.broker.delivery.definitions import Definitions
from penstock.broker.delivery.live_subscription import LiveSubscription
from penstock.cluster.partitions import PartitionTable
from penstock.observability.repeats import Repeats
from penstock.runtime.background import Background
from penstock.runtime.named_locks import NamedLocks
from penstock.runtime.turns import finish

logger = logging.getLogger(__name__)

LINES_OF_SUBSCRIPTION_MAX: Final = 20
"""Lines a minute about refreshes of a subscription that begin, and as many about those that end,"""
LINES_MAX: Final = 1_000
"""and about those of all subscriptions: clients may ask for as many refreshes as they like."""


class BegunRefresh(NamedTuple):
    """A refresh that is stored, and the offset from which each partition is delivered again."""

    refresh: Refresh
    starts: dict[int, int]


class RefreshService:
    def __init__(
        self, definitions: Definitions, partitions: PartitionTable, commits: Commits, locks: NamedLocks
    ) -> None:
        self._definitions = definitions
        self._partitions = partitions
        self._commits = commits
        self._locks = locks
        self._background = Background()
        self._lines = Repeats(logger, lines_max=LINES_OF_SUBSCRIPTION_MAX, total_max=LINES_MAX)

    def stop(self) -> None:
        self._background.cancel()

    async def begin(self, name: str) -> BegunRefresh:
        """Store the next refresh of a subscription; durable when this returns. The caller holds the lock of the name
        and passes the refresh on to the live subscription, if there is one.
        """
        row = self._definitions.find(name)
        topic = self._definitions.topic(row.topic)
        partitions = await finish(self._partitions.in_steps(topic.name, range(topic.partition_count)))
        refresh = Refresh(row.refresh_id + 1, {partition.index: partition.last_stable for partition in partitions})
        await self._definitions.put(row._replace(refresh_id=refresh.refresh_id, refresh_ends=encode_ends(refresh.ends)))
        self._lines.info(("begun", name), "refresh %d of subscription %s", refresh.refresh_id, name)
        return BegunRefresh(refresh, {partition.index: partition.log_start for partition in partitions})

    async def ready(self, live: LiveSubscription, member: Member, refresh_id: int) -> None:
        """Take a READY. Durable when this returns: everything below the ends is done, and if all members are ready the
        refresh is over.
        """
        row = self._definitions.find(live.name)
        if row.refresh_id == refresh_id and row.refresh_ends is None:
            return  # it is over; the answer to an earlier READY was lost
        live.ready(member, refresh_id)
        await self._commits.now(live)
        if live.is_refresh_over:
            await self._finish(live)

    def finish_soon(self, live: LiveSubscription) -> None:
        """Store the end of a refresh: the last of several members has done its part."""
        self._background.start(self._finish(live))

    async def _finish(self, live: LiveSubscription) -> None:
        await self._commits.now(live)
        async with self._locks.of(live.name):
            row, refresh = self._definitions.get(live.name), live.refresh
            if row is None or refresh is None or row.refresh_id != refresh.refresh_id:
                return
            await self._definitions.put(row._replace(refresh_ends=None))
            live.finished_refresh()
            self._lines.info(
                ("over", live.name), "refresh %d of subscription %s is over", refresh.refresh_id, live.name
            )
