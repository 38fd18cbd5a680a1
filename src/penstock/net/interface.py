"""What carries bytes between a client and a node: somebody who accepts streams, and somebody who reaches them.

Open to other packages (docs/extending.md): the entry point group is `penstock.network`, its values make a `Network`.
`net.tcp` and `net.unix` are the ones that are here. What is said over a stream is no business of a network.
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
    """`host` may be any text that means an address to the network; `port` is 0 where it has none."""

    host: str
    port: int = 0
    backlog: int = 1024
    receive_buffer_bytes: int = 0  # 0: as the system likes
    send_buffer_bytes: int = 0


class NetworkServer(Protocol):
    """An address that is taken when it is made. Streams are refused until `serve`, and after `close`."""

    @property
    def endpoint(self) -> Endpoint:
        """What clients have to be told to come here, also when any free port was asked for."""
        ...

    async def serve(self, make: Callable[[], asyncio.BaseProtocol]) -> None:
        """Accept streams; each gets a protocol of its own. OSError if the address cannot be used after all."""
        ...

    def close(self) -> None:
        """Accept no more, and give the address back; streams that are open stay. May be called again."""
        ...


class NetworkClient(Protocol):
    def connect(self, endpoint: Endpoint, timeout_s: float) -> socket.socket:
        """A stream, blocking, with this timeout for every call. OSError if nobody is there."""
        ...


class Network(Protocol):
    """One kind of both."""

    def server(self, options: ServerOptions) -> NetworkServer:
        """Takes the address. OSError if it is not to be had, ValueError if it is none."""
        ...

    def client(self) -> NetworkClient: ...
