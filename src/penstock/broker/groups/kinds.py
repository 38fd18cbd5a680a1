"""Constructors of groups, a table by type: the only place where groups are made."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from penstock.broker.groups.classic.group import ClassicGroup
from penstock.broker.groups.classic.limits import GroupLimits
from penstock.broker.groups.effects import Now
from penstock.broker.groups.group import CoordinatedGroup
from penstock.broker.groups.group_state import GroupType
from penstock.broker.groups.memory import GroupMemory
from penstock.config.settings import GroupSettings

GroupFactories = Mapping[GroupType, Callable[[str, Now], CoordinatedGroup]]
"""Makes an empty group of a type, with the given id."""


def group_factories(settings: GroupSettings, memory: GroupMemory) -> GroupFactories:
    limits = GroupLimits.of(settings, memory)
    return {GroupType.CLASSIC: lambda group_id, now: ClassicGroup(group_id, limits, now)}
