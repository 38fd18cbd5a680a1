"""The network `unix`: sockets in the file system, for clients on the same machine. The file has mode 0600:
only the user that runs the broker can connect, and root.

An address is `unix:/path`. A file that a killed process left behind is replaced, but not one with a listener.
"""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from collections.abc import Callable
from pathlib import Path

from penstock.net.endpoint import Endpoint
from penstock.net.interface import ServerOptions
from penstock.net.tcp import set_buffer_sizes
from penstock.runtime.private_files import FILE_MODE

SCHEME = "unix:"


class UnixNetwork:
    """Implements `net.interface.Network`."""

    def server(self, options: ServerOptions) -> UnixServer:
        return UnixServer(options)

    def client(self) -> UnixClient:
        return UnixClient()


class UnixServer:
    def __init__(self, options: ServerOptions) -> None:
        self._options = options
        self._path = path_of(options.host)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            set_buffer_sizes(self._socket, options)
            _clear(self._path)
            os.fchmod(self._socket.fileno(), FILE_MODE)  # before bind, which gives the file the mode of the socket
            self._socket.bind(str(self._path))
            self._socket.setblocking(False)
        except BaseException:
            self._socket.close()
            raise
        self._inode = self._path.stat().st_ino
        self._server: asyncio.Server | None = None

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint(f"{SCHEME}{self._path}", 0)

    async def serve(self, make: Callable[[], asyncio.BaseProtocol]) -> None:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_unix_server(make, sock=self._socket, backlog=self._options.backlog)

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
        self._socket.close()
        try:
            if self._path.stat().st_ino == self._inode:  # another process may have made a new one since
                self._path.unlink()
        except OSError:
            pass


class UnixClient:
    def connect(self, endpoint: Endpoint, timeout_s: float) -> socket.socket:
        stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            stream.settimeout(timeout_s)
            stream.connect(str(path_of(endpoint.host)))
        except BaseException:
            stream.close()
            raise
        return stream


def path_of(address: str) -> Path:
    if not address.startswith(SCHEME) or len(address) == len(SCHEME):
        raise ValueError(f"{address!r} is not an address of the network unix; write unix:/path/of/the.socket")
    return Path(address.removeprefix(SCHEME)).absolute()


def _clear(path: Path) -> None:
    """Remove the file that a dead process left behind."""
    if not path.is_socket():
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
    raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
