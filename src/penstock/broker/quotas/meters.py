"""Meters of clients: Kafka's order of precedence of quotas, and one meter for all clients that share a quota.

The most specific quota counts: that of the user and client id, of the user with any client id, of the user, then the
same with any user, then of the client id, then of any client id. A user's quota is shared by all clients of the user; a
default is not shared: every user or client id that it applies to has that much.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import Enum
from typing import Generic, Protocol, TypeVar

from penstock.broker.quotas.entity import CLIENT_ID, USER, Entity
from penstock.model.limits import QUOTA_METERS_KEPT


class Part(Enum):
    """Placeholders for a name in an entity."""

    DEFAULT = "default"
    ABSENT = ""


class Meter(Protocol):
    limit: float

    def is_idle(self, now_ms: int) -> bool: ...


M = TypeVar("M", bound=Meter)
K = TypeVar("K")
Name = str | Part | None
Client = tuple[str, str | None]
"""User and client id."""
Share = tuple[str | Part, Name]
"""The user and client id whose use is added up."""


class Meters(Generic[K, M]):
    """Meters by key; idle ones are forgotten, since a new one would measure the same."""

    def __init__(self, make: Callable[[float], M]) -> None:
        self._make = make
        self._meters: dict[K, M] = {}
        self._sweep_at = QUOTA_METERS_KEPT

    def __len__(self) -> int:
        return len(self._meters)

    def get(self, key: K, limit: float, now_ms: int) -> M:
        meter = self._meters.get(key)
        if meter is None:
            if len(self._meters) >= self._sweep_at:
                self._forget_idle(now_ms)
            meter = self._meters[key] = self._make(limit)
        meter.limit = limit
        return meter

    def _forget_idle(self, now_ms: int) -> None:
        self._meters = {key: meter for key, meter in self._meters.items() if not meter.is_idle(now_ms)}
        self._sweep_at = max(QUOTA_METERS_KEPT, 2 * len(self._meters))


class ClientMeters(Generic[M]):
    """One kind of quota of users and client ids."""

    def __init__(self, make: Callable[[float], M]) -> None:
        self._limits: dict[tuple[Name, Name], float] = {}
        self._meters: Meters[Share, M] = Meters(make)

    def __bool__(self) -> bool:
        """Whether any limit is set."""
        return bool(self._limits)

    def set_limit(self, entity: Entity, limit: float | None) -> None:
        """Set or, with None, remove a limit. Infinity and NaN mean no limit."""
        if limit is not None and math.isfinite(limit):
            self._limits[_place(entity)] = limit
        else:
            self._limits.pop(_place(entity), None)

    def of(self, client: Client, now_ms: int) -> M | None:
        """The client's meter; None if nothing limits it."""
        share = self._share(client)
        limit = self._limit(share)
        return None if limit is None else self._meters.get(share, limit, now_ms)

    def _share(self, client: Client) -> Share:
        user, client_id = client
        limits, default, absent = self._limits, Part.DEFAULT, Part.ABSENT
        if (user, client_id) in limits or (user, default) in limits:
            return user, client_id
        if (user, absent) in limits:
            return user, absent
        if (default, client_id) in limits or (default, default) in limits:
            return user, client_id
        if (default, absent) in limits:
            return user, absent
        return absent, client_id

    def _limit(self, share: Share) -> float | None:
        """The limit. As in Kafka, clients without an id have none by client id, even where all others have one."""
        user, client_id = share
        if client_id is None:
            return None
        default = Part.DEFAULT
        if client_id == "" or client_id is Part.ABSENT:
            candidates: tuple[tuple[Name, Name], ...] = ((user, Part.ABSENT), (default, Part.ABSENT))
            if user is Part.ABSENT:
                return None
        elif user is Part.ABSENT:
            candidates = ((user, client_id), (user, default))
        else:
            candidates = ((user, client_id), (user, default), (default, client_id), (default, default))
        return next((self._limits[place] for place in candidates if place in self._limits), None)


def _place(entity: Entity) -> tuple[Name, Name]:
    names: dict[str, Name] = {kind: Part.DEFAULT if name is None else name for kind, name in entity}
    return names.get(USER, Part.ABSENT), names.get(CLIENT_ID, Part.ABSENT)
