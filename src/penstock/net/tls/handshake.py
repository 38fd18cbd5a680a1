"""One handshake: a connected socket becomes the encrypted stream of a protocol."""

from __future__ import annotations

import asyncio
import ssl
from asyncio.sslproto import SSLProtocol
from collections.abc import Awaitable, Callable
from typing import Any, Final

import uvloop.loop

from penstock.net.tls.paced_stream import Lane, PacedStream
from penstock.net.tls.threaded_handshake import Step, ThreadedHandshake

SHUTDOWN_SECONDS: Final = 1.0
"""For the peer's closing message; most clients never send one."""

RunStep = Callable[[Step], Awaitable[Exception | None]]


async def shake_hands(
    socket: Any,
    protocol: asyncio.BaseProtocol,
    context: ssl.SSLContext,
    run: RunStep,
    lane: Lane,
    *,
    handshake_seconds: float,
) -> None:
    """`protocol` is connected when the handshake is done. OSError if it fails, also one of TLS.

    It is what the loop does for `connect_accepted_socket(ssl=…)`, with two parts of ours in between: what reads from
    the socket, and, where clients are asked for certificates, what takes the steps of the handshake.
    """
    loop = asyncio.get_running_loop()
    threaded = None if context.verify_mode is ssl.CERT_NONE else ThreadedHandshake(context, run)
    done: asyncio.Future[None] = loop.create_future()
    kind: Any = vars(uvloop.loop)["SSLProtocol"] if isinstance(loop, uvloop.Loop) else SSLProtocol
    decrypting = kind(
        loop,
        protocol,
        threaded or context,
        done,
        server_side=True,
        ssl_handshake_timeout=handshake_seconds,
        ssl_shutdown_timeout=SHUTDOWN_SECONDS,
    )

    def begin(transport: asyncio.Transport) -> None:
        stream = PacedStream(transport, decrypting, lane)
        if threaded is not None:
            threaded.stream = stream
        transport.set_protocol(stream)
        decrypting.connection_made(transport)

    transport, _ = await loop.connect_accepted_socket(lambda: _Beginning(begin), socket)
    try:
        await done
    except BaseException:
        transport.abort()
        raise
    finally:
        if threaded is not None:
            threaded.close()


class _Beginning(asyncio.Protocol):
    """Until a stream has its own protocol, which it gets before anything is read."""

    def __init__(self, begin: Callable[[Any], None]) -> None:
        self._begin = begin

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._begin(transport)
