"""Target: bytes on a TLS port, from the first one on, in any pieces; the client reads what it is sent and goes.

    byte 0     how the bytes are cut into pieces: 0 not at all, else the seed of their lengths
    byte 1     bit 0: clients have to show a certificate
    the rest   what the client sends

Sockets, event loop and OpenSSL are the real ones. Wrong is: an error in the log or in the loop, a stream that is served
without a handshake, which no input can complete since it has no key, and whatever is left when the client has gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import random
import socket
import ssl
import tempfile
from pathlib import Path
from typing import Any, Final

import uvloop

from penstock.net.admission.ticket import Ticket
from penstock.net.interface import ServerOptions
from penstock.net.tls.server import TlsServer
from penstock.security.tls.certificates import Certificates
from penstock.security.tls.options import ClientAuth
from tests.fuzz.finding import ErrorLog, Finding, watched
from tests.fuzz.frames import pieces
from tests.fuzz.mutation import Change
from tests.support.admission import open_door
from tests.support.certificates import Authority

SHOWS_CERTIFICATE: Final = 1
HANDSHAKE_SECONDS: Final = 60.0
ANSWER_SECONDS: Final = 0.05
GONE_SECONDS: Final = 20.0
READ_BYTES: Final = 65_536
RECORD_HEAD: Final = 5


class Rig:
    """Two listeners for all inputs: a key is expensive, and what one input leaves behind shows with it."""

    def __init__(self) -> None:
        self.loop = uvloop.new_event_loop()
        self.loop.set_exception_handler(self._failed)
        self.failures: list[str] = []
        self._files = tempfile.TemporaryDirectory(prefix="penstock-fuzz-tls-")
        authority = Authority(Path(self._files.name))
        issued = authority.issue("server")
        self.doors = [open_door("plain"), open_door("mutual")]
        self.servers = [
            TlsServer(
                ServerOptions(host="127.0.0.1"),
                Certificates(authority.options(issued, client_auth=client_auth)),
                handshake_seconds=HANDSHAKE_SECONDS,
            )
            for client_auth in (ClientAuth.NONE, ClientAuth.REQUIRED)
        ]
        for server, door in zip(self.servers, self.doors, strict=True):
            self.loop.run_until_complete(server.serve(door, self._made))

    def _failed(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self.failures.append(f"{context.get('message')}: {context.get('exception')!r}")

    def _made(self, _: Ticket) -> asyncio.Protocol:
        """Called where a handshake begins; a protocol is served when it is told of its connection."""
        return Served(self.failures)


class Served(asyncio.Protocol):
    def __init__(self, failures: list[str]) -> None:
        self._failures = failures

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._failures.append("a stream is served without a key")
        transport.close()


@functools.cache
def rig() -> Rig:
    return Rig()


def run(data: bytes) -> None:
    if len(data) < 2:
        return
    errors, used = ErrorLog(), rig()
    which = data[1] & SHOWS_CERTIFICATE
    with watched(), errors.listening():
        used.loop.run_until_complete(converse(used, which, data))
    errors.check()
    failures, used.failures[:] = used.failures.copy(), []
    if failures:
        raise Finding("; ".join(failures))


async def converse(used: Rig, which: int, data: bytes) -> None:
    server, door = used.servers[which], used.doors[which]
    with socket.socket() as client, contextlib.suppress(OSError):  # the broker has ended it
        client.setblocking(False)
        await used.loop.sock_connect(client, ("127.0.0.1", server.endpoint.port))
        for piece in pieces(data[2:], data[0]):
            await used.loop.sock_sendall(client, piece)
        with contextlib.suppress(TimeoutError):  # it waits for more
            while await asyncio.wait_for(used.loop.sock_recv(client, READ_BYTES), ANSWER_SECONDS):
                pass
    deadline = used.loop.time() + GONE_SECONDS
    while door.open_count or server._silent or server._ready or server._under_way:
        if used.loop.time() > deadline:
            raise Finding(f"the client has gone, and {door.open_count} connections are still there")
        await asyncio.sleep(0.001)


# --- inputs ----------------------------------------------------------------------------------------------------------


def _first_flight(newest: ssl.TLSVersion, name: str | None) -> bytes:
    """What a real client sends first."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.maximum_version = newest
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(incoming, outgoing, server_hostname=name).do_handshake()
    return outgoing.read()


@functools.cache
def _flights() -> tuple[bytes, ...]:
    return tuple(
        _first_flight(newest, name)
        for newest in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)
        for name in ("localhost", None)
    )


ALERT: Final = bytes.fromhex("15 0303 0002 0100")
SPEC: Final = bytes.fromhex("14 0303 0001 01")
OTHERS: Final = {
    "alert": ALERT,
    "change-of-cipher-first": SPEC,
    "heartbeat": bytes.fromhex("18 0302 0003 01 4000"),
    "ssl2": bytes.fromhex("802e 0100 0200 1500 0000 10") + bytes(32),
    "empty-record": bytes.fromhex("16 0301 0000"),
    "long-record": bytes.fromhex("16 0301 ffff 01 00fffb"),
    "http": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "kafka": bytes.fromhex("00000008 0012 0000 00000001"),
}


def seeds() -> dict[str, bytes]:
    found = dict(OTHERS)
    for number, flight in enumerate(_flights()):
        found[f"hello-{number}"] = flight
        found[f"twice-{number}"] = flight * 2
        found[f"half-{number}"] = flight[: len(flight) // 2]
        found[f"then-{number}"] = flight + SPEC + ALERT
    return {f"{name}-{flags}": bytes((flags * 5, flags)) + data for name, data in found.items() for flags in (0, 1)}


def mutate(data: bytes, max_bytes: int, choose: random.Random, change: Change) -> bytes:
    """Mostly inside the first record, whose length is corrected: else nearly every input would end at it."""
    if len(data) < 2 + RECORD_HEAD + 4 or choose.random() < 0.2:
        return change(data, max_bytes)
    head, record = data[: 2 + RECORD_HEAD], data[2 + RECORD_HEAD :]
    if choose.random() < 0.1:
        record += choose.choice([ALERT, SPEC, *_flights()])
    else:
        record = change(record, max_bytes)
    if choose.random() < 0.9:
        record = record[:1] + max(len(record) - 4, 0).to_bytes(3, "big") + record[4:]
        head = head[:5] + min(len(record), 0xFFFF).to_bytes(2, "big")
    return (head + record)[:max_bytes]
