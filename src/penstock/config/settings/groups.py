"""Consumer groups and transactions."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from penstock.config.settings.values import Count, Millis, Section
from penstock.model import limits


class GroupSettings(Section):
    initial_rebalance_delay_ms: Millis = 250
    """A new group waits this long for more members before its first assignment, and again while members join."""
    session_timeout_min_ms: Count = 6_000
    """Shortest session timeout a member may ask for."""
    session_timeout_max_ms: Count = 1_800_000
    """Longest session timeout a member may ask for."""
    offsets_retention_minutes: Count = 10_080
    """Drop the offsets of a group that has been empty for this long."""
    offsets_retention_check_interval_ms: Count = 600_000
    """Time between searches for such offsets."""
    offsets_topic_partitions: Annotated[int, Field(ge=1, le=1_000)] = 50
    """Partitions of __consumer_offsets when it is created."""
    offset_metadata_bytes_max: Annotated[int, Field(ge=0)] = 4_096
    """Longest text a member may commit with an offset."""
    members_max: Count = limits.GROUP_MEMBERS_MAX
    """Most members of one group."""
    groups_max: Count = 100_000
    """Most groups on this node. With rules, half of them for one principal."""


class TransactionSettings(Section):
    timeout_max_ms: Count = 900_000
    """Longest timeout a producer may ask for; a transaction that is open for longer than its timeout is aborted."""
    id_expiration_ms: Count = 604_800_000
    """Forget a transactional id that was not used for this long."""
    ids_max: Count = limits.TRANSACTIONAL_IDS_MAX
    """Transactional ids on this node, with rules half of them for one principal; one more is POLICY_VIOLATION."""
    topic_partitions: Annotated[int, Field(ge=1, le=1_000)] = 50
    """Partitions of __transaction_state when it is created."""
