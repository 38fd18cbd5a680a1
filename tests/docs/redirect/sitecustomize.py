"""Leads connections to localhost:9999 to PENSTOCK_TEST_PUSH_PORT, in every Python that has this directory in its path.

The push clients have no variable for the broker's address, and another broker may listen on the default port.
"""

import asyncio
import os
import socket
from typing import Any

_DEFAULT = ("localhost", 9999)
_port = os.environ.get("PENSTOCK_TEST_PUSH_PORT")

if _port is not None:
    _target = ("127.0.0.1", int(_port))
    _connect, _connect_on_loop = socket.create_connection, asyncio.BaseEventLoop.create_connection

    def _redirected(address: tuple[str, int], *more: Any, **options: Any) -> socket.socket:
        return _connect(_target if address == _DEFAULT else address, *more, **options)

    async def _redirected_on_loop(loop: Any, factory: Any, host: Any = None, port: Any = None, **options: Any) -> Any:
        if (host, port) == _DEFAULT:
            host, port = _target
        return await _connect_on_loop(loop, factory, host, port, **options)

    socket.create_connection = _redirected  # type: ignore[assignment]
    asyncio.BaseEventLoop.create_connection = _redirected_on_loop  # type: ignore[assignment,method-assign]
