"""The network `abstract`: Unix sockets without a file, as Linux has them. An address is `abstract:@name`."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

from penstock.net.endpoint import Endpoint
from penstock.net.interface import ServerOptions


class AbstractNetwork:
    def server(self, options: ServerOptions) -> AbstractServer:
        return AbstractServer(options)

    def client(self) -> AbstractClient:
        return AbstractClient()


class AbstractServer:
    def __init__(self, options: ServerOptions) -> None:
        self._options = options
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.bind(_name(options.host))
        except OSError:
            self._socket.close()
            raise
        self._socket.setblocking(False)
        self._server: asyncio.Server | None = None

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint(self._options.host, 0)

    async def serve(self, make: Callable[[], asyncio.BaseProtocol]) -> None:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_unix_server(make, sock=self._socket, backlog=self._options.backlog)

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
        self._socket.close()


class AbstractClient:
    def connect(self, endpoint: Endpoint, timeout_s: float) -> socket.socket:
        stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        stream.settimeout(timeout_s)
        try:
            stream.connect(_name(endpoint.host))
        except OSError:
            stream.close()
            raise
        return stream


def _name(address: str) -> str:
    if not address.startswith("abstract:@"):
        raise ValueError(f"{address!r} is no address of the network abstract; write abstract:@name")
    return "\0" + address.removeprefix("abstract:@")
