"""Who is on the other side of a connection, and the address it reached us at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address as clients see it."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def is_every_address(host: str) -> bool:
    """0.0.0.0 or ::, which nobody can be told to connect to."""
    try:
        return ip_address(host).is_unspecified
    except ValueError:
        return False


class Mutable(Protocol):
    """A connection, as far as quotas are concerned."""

    def mute(self, seconds: float) -> None: ...


@dataclass(slots=True)
class Caller:
    """A connection as handlers see it. `local` is the address the client reached us at."""

    connection_id: int
    peer_host: str
    local: Endpoint
    listener: str = "PLAINTEXT"
    principal: str = "User:ANONYMOUS"
    software_name: str = "unknown"
    software_version: str = "unknown"
    connection: Mutable | None = None
    throttled_until_ms: int = 0
    """Set by a handler whose client is over a quota that only it knows of; on the clock of quotas."""

    peer_port: int = 0
    on_closed: Callable[[Caller], None] | None = None
    """Called when the connection has ended, for whoever keeps something of its client."""

    lane: Any = None
    """What the service remembers of the last request, to serve the next one like it faster."""

    @property
    def user(self) -> str:
        """The principal's name, without its type."""
        return self.principal.partition(":")[2]
