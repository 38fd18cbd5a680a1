"""Clients that mean no good, at every door: what they are refused or cut off for is counted, and is no failure."""

from __future__ import annotations

import asyncio
import itertools
import ssl
import struct
from collections.abc import Callable
from typing import Any

from penstock.protocol.push.messages import Publish, encode
from tests.load.disturbances import Disturbance, SlowReaders, Wire
from tests.load.frames import API_VERSIONS
from tests.support.wire import encode_request, frame

GROUP_ID_LENGTH = 16
READ_BYTES = 65_536


class Attack(Disturbance):
    """`clients` that do the same again and again, each on a new connection, at most `per_second` in all."""

    def __init__(self, host: str, port: int, *, clients: int, per_second: float = 1_000.0) -> None:
        super().__init__(host, port)
        self._clients = clients
        self._pause_s = clients / per_second

    async def begin(self) -> None:
        for _ in range(self._clients):
            self.start(self._again_and_again)
        await asyncio.sleep(1.0)

    async def _again_and_again(self) -> None:
        while True:
            try:
                await self.attack()
            except (OSError, EOFError):
                self.counts["cut off"] += 1
            await asyncio.sleep(self._pause_s)

    async def attack(self) -> None:
        wire = await self.connect()
        try:
            await self.misbehave(wire)
        finally:
            wire.close()

    async def misbehave(self, wire: Wire) -> None:
        raise NotImplementedError


class Slow(Attack):
    """They send a beginning, and then a byte now and then, or nothing at all, until they are cut off."""

    def __init__(
        self, host: str, port: int, *, beginning: str, drip: str = "", after: bool = False, **more: Any
    ) -> None:
        super().__init__(host, port, **more)
        self._beginning = bytes.fromhex(beginning)
        self._drip = bytes.fromhex(drip)
        self._is_served_first = after

    async def misbehave(self, wire: Wire) -> None:
        if self._is_served_first:
            await wire.ask(API_VERSIONS)
        wire.writer.write(self._beginning)
        while True:
            try:
                if not await asyncio.wait_for(wire.reader.read(READ_BYTES), 0.5):
                    raise EOFError
            except TimeoutError:
                wire.writer.write(self._drip)


class Joins(Attack):
    """Members of ever new groups that bring 900 KB each and leave without a word."""

    def __init__(self, host: str, port: int, **more: Any) -> None:
        super().__init__(host, port, **more)
        self._names = itertools.count()
        self._placeholder = b"g" * GROUP_ID_LENGTH
        protocols = [{"name": "range", "metadata": bytes(900_000)}]
        body = {
            "group_id": self._placeholder.decode(), "session_timeout": 1_800_000, "rebalance_timeout": 1_800_000,
            "member_id": "", "protocol_type": "consumer", "protocols": protocols,
        }  # fmt: skip
        self._request = frame(encode_request("join_group", 3, 1, body))

    async def misbehave(self, wire: Wire) -> None:
        name = b"%0*d" % (GROUP_ID_LENGTH, next(self._names))
        answer = await wire.ask(self._request.replace(self._placeholder, name, 1))
        (code,) = struct.unpack_from(">h", answer, 8)
        self.counts["refused" if code else "joined"] += 1


class Handshakes(Attack):
    """Complete handshakes of TLS, for nothing."""

    def __init__(self, host: str, port: int, **more: Any) -> None:
        super().__init__(host, port, **more)
        self._context = ssl.create_default_context()
        self._context.check_hostname = False
        self._context.verify_mode = ssl.CERT_NONE

    async def attack(self) -> None:
        _, writer = await asyncio.open_connection(
            *self._address, ssl=self._context, local_addr=(next(self._sources), 0)
        )
        self.counts["handshakes"] += 1
        writer.close()


class HalfLogins(Attack):
    """The first message of SCRAM, with a name that is no user's; the answer is read, and that was it."""

    async def misbehave(self, wire: Wire) -> None:
        await wire.ask(frame(encode_request("sasl_handshake", 1, 1, {"mechanism": "SCRAM-SHA-256"})))
        token = b"n,,n=mallory%d,r=abcdef" % self.counts["connections"]
        await wire.ask(frame(encode_request("sasl_authenticate", 2, 2, {"auth_bytes": token})))
        self.counts["half logins"] += 1


class Guesses(Attack):
    """Passwords of one user by PLAIN, each of which costs the broker a slow hash."""

    async def misbehave(self, wire: Wire) -> None:
        await wire.ask(frame(encode_request("sasl_handshake", 1, 1, {"mechanism": "PLAIN"})))
        token = b"\0alice\0guess %d" % self.counts["connections"]
        await wire.ask(frame(encode_request("sasl_authenticate", 2, 2, {"auth_bytes": token})))
        self.counts["guesses"] += 1


class ClientIds(Attack):
    """Every message comes from a push client that nobody has heard of before."""

    def __init__(self, host: str, port: int, *, topic: str, **more: Any) -> None:
        super().__init__(host, port, **more)
        self._topic = topic
        self._names = itertools.count()

    async def misbehave(self, wire: Wire) -> None:
        for number in range(1, 100):
            name = f"{next(self._names):0200d}"
            wire.writer.write(encode(Publish(name, 1, 0, self._topic, 0, None, b"x"), number))
            if not await wire.reader.read(READ_BYTES):
                raise EOFError
            self.counts["messages"] += 1
            await asyncio.sleep(self._pause_s)


class UnreadAnswers(Attack):
    """A request over HTTP, and nothing of its answer is read."""

    def __init__(self, host: str, port: int, *, request: str, **more: Any) -> None:
        super().__init__(host, port, **more)
        self._request = bytes.fromhex(request)

    async def attack(self) -> None:
        loop = asyncio.get_running_loop()
        with SlowReaders.narrow_socket() as sock:
            await loop.sock_connect(sock, self._address)
            self.counts["connections"] += 1
            await loop.sock_sendall(sock, self._request)
            await asyncio.sleep(5.0)


ATTACKS: dict[str, Callable[..., Disturbance]] = {
    "slow": Slow,
    "joins": Joins,
    "handshakes": Handshakes,
    "half logins": HalfLogins,
    "guesses": Guesses,
    "client ids": ClientIds,
    "unread answers": UnreadAnswers,
}
