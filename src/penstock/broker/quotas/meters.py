"""Meters of clients: Kafka's order of precedence of quotas, and one meter for all clients that share a quota.

The most specific quota counts: that of the user and client id, of the user with any client id, of the user, then the
same with any user, then of the client id, then of any client id. A user's quota is shared by all clients of the user; a
default is not shared: every user or client id that it applies to has that much.
"""

from __future__ import annotations

import hashlib
import math
from collections import OrderedDict
from collections.abc import Callable
from enum import Enum
from typing import Final, Generic, Protocol, TypeVar

from penstock.broker.quotas.entity import CLIENT_ID, USER, Entity
from penstock.model.limits import CLIENT_ID_BYTES_MAX, QUOTA_METERS_KEPT, QUOTA_METERS_MAX


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
Key = tuple[str | Part, Name | bytes]
"""The same with a digest in the place of a long client id."""
_FORGOTTEN_FOR_EACH: Final = 2
"""Idle meters that may go when a new one comes: so they become fewer, and no request pays for all of them."""


class Meters(Generic[K, M]):
    """Meters by key. Idle ones are forgotten, since a new one would measure the same; with very many, others, too."""

    def __init__(self, make: Callable[[float], M]) -> None:
        self._make = make
        self._meters: OrderedDict[K, M] = OrderedDict()  # the one that was unused longest first

    def __len__(self) -> int:
        return len(self._meters)

    def get(self, key: K, limit: float, now_ms: int) -> M:
        meter = self._meters.get(key)
        if meter is None:
            self._make_room(now_ms)
            meter = self._meters[key] = self._make(limit)
        else:
            self._meters.move_to_end(key)
        meter.limit = limit
        return meter

    def _make_room(self, now_ms: int) -> None:
        for _ in range(_FORGOTTEN_FOR_EACH):
            count = len(self._meters)
            if count < QUOTA_METERS_KEPT:
                return
            key, oldest = next(iter(self._meters.items()))
            if count < QUOTA_METERS_MAX and not oldest.is_idle(now_ms):
                return
            del self._meters[key]


class ClientMeters(Generic[M]):
    """One kind of quota of users and client ids."""

    def __init__(self, make: Callable[[float], M]) -> None:
        self._limits: dict[tuple[Name, Name], float] = {}
        self._meters: Meters[Key, M] = Meters(make)

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
        return None if limit is None else self._meters.get(_key(share), limit, now_ms)

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


def _key(share: Share) -> Key:
    user, client_id = share
    if isinstance(client_id, str) and len(client_id) > CLIENT_ID_BYTES_MAX:
        return user, hashlib.blake2b(client_id.encode(), digest_size=16).digest()
    return share


def _place(entity: Entity) -> tuple[Name, Name]:
    names: dict[str, Name] = {kind: Part.DEFAULT if name is None else name for kind, name in entity}
    return names.get(USER, Part.ABSENT), names.get(CLIENT_ID, Part.ABSENT)
