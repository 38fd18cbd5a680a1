"""Loading of a subscription's core from its row in meta.db and the offsets of its group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.broker.delivery.core.counters import DeliveryCounters
from penstock.broker.delivery.core.refresh import Refresh, decode_ends
from penstock.broker.delivery.core.rules import Rules
from penstock.broker.delivery.core.subscription import Subscription
from penstock.broker.delivery.start_positions import missing_offset
from penstock.broker.groups.offsets.records import CommittedOffset
from penstock.broker.progress.position import Position, decode_position
from penstock.cluster.partition import Partition
from penstock.protocol.push.values import Start, StartKind
from penstock.runtime.turns import Steps
from penstock.storage.metadata.subscriptions import SubscriptionRow


class SubscriptionLoader:
    def __init__(self, rules: Rules, counters: DeliveryCounters) -> None:
        self._rules = rules
        self._counters = counters

    def load(
        self, row: SubscriptionRow, partitions: Iterable[Partition], committed: Mapping[int, CommittedOffset]
    ) -> Steps[Subscription]:
        """The core of a row, at the offsets that were committed."""
        refresh = None if row.refresh_ends is None else Refresh(row.refresh_id, decode_ends(row.refresh_ends))
        core = Subscription(
            row.name,
            row.topic,
            self._rules,
            {},
            by_key=row.by_key,
            refresh=refresh,
            counters=self._counters,
        )
        for partition in partitions:
            found = committed.get(partition.index)
            if found is None:
                position, refresh_id = Position(missing_offset(partition, start_of(row))), -1
            else:
                position, refresh_id = decode_position(found.offset, found.metadata)
            if refresh is not None and refresh_id != refresh.refresh_id:
                position = Position(partition.log_start)  # the refresh was requested, and has not begun
            core.add_partition(partition.index, position)
            yield
        return core


def start_of(row: SubscriptionRow) -> Start:
    return Start(StartKind(row.start_kind), row.start_value)
