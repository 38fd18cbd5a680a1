"""Who is on the other side of a connection, and the address it reached us at."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address as clients see it."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


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
