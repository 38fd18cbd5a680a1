"""The interface of networks, which carry bytes between clients and nodes: a server accepts streams, a client opens
them.

Open to other packages (docs/extending.md): the entry point group is `penstock.network`, its values make a `Network`.
`net.tcp` and `net.unix` are built in. A network does not look at the bytes of a stream.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from penstock.net.endpoint import Endpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """The address of a server, and its options. `host` is any address of the network; `port` is 0 where it has none."""

    host: str
    port: int = 0
    backlog: int = 1024
    receive_buffer_bytes: int = 0  # 0: the system's default
    send_buffer_bytes: int = 0


class NetworkServer(Protocol):
    """A server whose address is bound from the start. Streams are refused until `serve`, and after `close`."""

    @property
    def endpoint(self) -> Endpoint:
        """The address for clients, with the actual port where any free one was asked for."""
        ...

    async def serve(self, make: Callable[[], asyncio.BaseProtocol]) -> None:
        """Accept streams; each gets a protocol of its own. OSError if the address cannot be used after all."""
        ...

    def close(self) -> None:
        """Accept no more streams, and give the address back; open streams stay. May be called again."""
        ...


class NetworkClient(Protocol):
    def connect(self, endpoint: Endpoint, timeout_s: float) -> socket.socket:
        """Open a blocking stream with this timeout for every call. OSError if nothing listens there."""
        ...


class Network(Protocol):
    """The servers and clients of one kind of network."""

    def server(self, options: ServerOptions) -> NetworkServer:
        """Bind the address. OSError if it is not available, ValueError if it is malformed."""
        ...

    def client(self) -> NetworkClient: ...
