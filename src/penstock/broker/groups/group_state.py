"""Types and states of groups, by the names that ListGroups and DescribeGroups show."""

from __future__ import annotations

import enum


class GroupType(enum.Enum):
    """The protocol that the members of a group speak; all types share one namespace of group ids."""

    CLASSIC = "classic"


class GroupState(enum.Enum):
    """State of a group, by the name that Kafka's tools show."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"
