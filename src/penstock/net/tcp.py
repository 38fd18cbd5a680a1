"""The network `tcp`."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

from penstock.net.endpoint import Endpoint
from penstock.net.interface import ServerOptions


class TcpNetwork:
    """Implements `net.interface.Network`."""

    def server(self, options: ServerOptions) -> TcpServer:
        return TcpServer(options)

    def client(self) -> TcpClient:
        return TcpClient()


class TcpServer:
    def __init__(self, options: ServerOptions) -> None:
        self._options = options
        self._socket = bound_socket(options.host, options.port)
        # Buffer sizes are inherited by accepted sockets, and must be set before listen to affect the TCP window.
        set_buffer_sizes(self._socket, options)
        self._server: asyncio.Server | None = None
        self._port = int(self._socket.getsockname()[1])

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint(self._options.host, self._port)

    async def serve(self, make: Callable[[], asyncio.BaseProtocol]) -> None:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(make, sock=self._socket, backlog=self._options.backlog)

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
        self._socket.close()


class TcpClient:
    def connect(self, endpoint: Endpoint, timeout_s: float) -> socket.socket:
        stream = socket.create_connection((endpoint.host, endpoint.port), timeout=timeout_s)
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return stream


def bound_socket(host: str, port: int, backlog: int | None = None) -> socket.socket:
    """A TCP socket at the address, which listens if it is given a backlog. OSError if the address is not available."""
    # As bytes, since for a text Python loads its tables of international names.
    name = host.encode() if host.isascii() else host
    family, kind, protocol, _, address = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)[0]
    sock = socket.socket(family, kind, protocol)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)  # inherited: finds peers that vanished
        sock.bind(address)
        if backlog is not None:
            sock.listen(backlog)
        sock.setblocking(False)
    except BaseException:
        sock.close()
        raise
    return sock


def set_buffer_sizes(stream: socket.socket, options: ServerOptions) -> None:
    if options.receive_buffer_bytes:
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, options.receive_buffer_bytes)
    if options.send_buffer_bytes:
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, options.send_buffer_bytes)
