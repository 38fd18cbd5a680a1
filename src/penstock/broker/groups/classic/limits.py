"""Settings of classic groups, and the source of member ids."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass

from penstock.config.settings import GroupSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLimits:
    """The settings that a group needs to decide."""

    initial_rebalance_delay_ms: int
    members_max: int
    new_member_id: Callable[[str], str]  # a fresh id that begins with the given name

    @classmethod
    def of(cls, settings: GroupSettings) -> GroupLimits:
        return cls(
            initial_rebalance_delay_ms=settings.initial_rebalance_delay_ms,
            members_max=settings.members_max,
            new_member_id=lambda name: f"{name}-{uuid.uuid4()}",
        )
