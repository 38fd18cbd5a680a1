"""Settings of classic groups, the source of member ids, and the memory that all groups share."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field

from penstock.broker.groups.memory import GroupMemory
from penstock.config.settings import GroupSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLimits:
    """The settings that a group needs to decide."""

    initial_rebalance_delay_ms: int
    members_max: int
    new_member_id: Callable[[str], str]  # a fresh id that begins with the given name
    memory: GroupMemory = field(default_factory=GroupMemory)

    @classmethod
    def of(cls, settings: GroupSettings, memory: GroupMemory) -> GroupLimits:
        return cls(
            initial_rebalance_delay_ms=settings.initial_rebalance_delay_ms,
            members_max=settings.members_max,
            new_member_id=lambda name: f"{name}-{uuid.uuid4()}",
            memory=memory,
        )
