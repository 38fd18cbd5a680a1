"""The room for fetches that wait for data.

A fetch that waits holds what it asked for, partition by partition, for up to five minutes, and a client may send many
on one connection without waiting for answers. So the partitions of all that wait are bounded. Beyond the bound a fetch
is answered at once with what there is, as if its time were up, but for the first narrow one of each connection: that is
all that a consumer of common size needs.
"""

from __future__ import annotations

from typing import Final, Protocol

from penstock.model.limits import FETCH_WAITING_PARTITIONS_MAX

NARROW: Final = 100
"""Partitions of a fetch that may always wait, if it is the only one of its connection."""


class FetchingChannel(Protocol):
    """A connection; `waiting_partitions` is changed by the parking only."""

    waiting_partitions: int


class FetchParking:
    """One for the broker."""

    __slots__ = ("partition_count", "partitions_max")

    def __init__(self, partitions_max: int = FETCH_WAITING_PARTITIONS_MAX) -> None:
        self.partitions_max = partitions_max
        self.partition_count = 0

    def take(self, channel: FetchingChannel, partitions: int) -> bool:
        """Whether a fetch of so many partitions may wait; if so, it has to be given back."""
        if self.partition_count + partitions > self.partitions_max and (
            channel.waiting_partitions or partitions > NARROW
        ):
            return False
        self.partition_count += partitions
        channel.waiting_partitions += partitions
        return True

    def give_back(self, channel: FetchingChannel, partitions: int) -> None:
        self.partition_count -= partitions
        channel.waiting_partitions -= partitions
