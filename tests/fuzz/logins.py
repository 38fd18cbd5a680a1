"""Target: bytes on a Kafka connection to a listener with SASL, served by a whole broker with one user.

    byte 0     how the bytes are cut into pieces: 0 not at all, else the seed of their lengths
    byte 1     bit 0: the client reads nothing until the end · bit 1: every API is loaded already · bit 2: sessions end
    the rest   what the client sends

Wrong is what is wrong with frames, and: a request that is served without a login, or as somebody else than the user.
The broker's nonce is the same every time, so that an input can log in.
"""

from __future__ import annotations

import asyncio
import functools
import random
from base64 import b64encode
from typing import Any, Final, cast
from unittest.mock import patch

from scramp import ScramClient
from scramp.core import Nonce

from penstock.broker.dispatcher import Dispatcher
from penstock.broker.gate import Gate
from penstock.broker.login.channel import SaslChannel
from penstock.broker.request import AnyRequest
from penstock.net.connection.connection import Connection
from penstock.net.login.logins import MECHANISMS, Logins
from penstock.net.reply import Reply
from penstock.net.service import Channel, Stream
from penstock.protocol.kafka.apis import API_VERSIONS, SASL_AUTHENTICATE, SASL_HANDSHAKE
from penstock.security.audit import Audit
from penstock.security.listener import ListenerSecurity, SecurityProtocol
from penstock.security.principal import Principal
from penstock.security.users.credential import ScramMechanism, derived_credential, salted_password
from tests.fuzz.finding import Finding
from tests.fuzz.frames import (
    EVERY_VERSION,
    LOADED,
    Conversation,
    WatchedChannel,
    WatchedListener,
    WatchedService,
    converse,
)
from tests.fuzz.mutation import Change, change_somehow, join_frames, rearrange, split_frames
from tests.fuzz.samples import request
from tests.support.wire import frame

ENDS: Final = 4
SESSION_MS: Final = 30_000
USER, PASSWORD, NONCE = "alice", "pencil", "n" * 40
ALICE: Final = Principal("User", USER)
LOGIN: Final = frozenset({API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE})
SALT, ITERATIONS = b"s" * 16, 4096
CREDENTIALS: Final = {
    mechanism: derived_credential(
        mechanism, salted_password(mechanism, PASSWORD.encode(), SALT, ITERATIONS), SALT, ITERATIONS
    )
    for mechanism in ScramMechanism
}


def run(data: bytes) -> None:
    with patch.object(Nonce, "create", lambda: Nonce(NONCE)):
        converse(data, LoginConversation)


class LoginConversation(Conversation):
    """One client's connection to a listener with SASL."""

    async def _connect(self, broker: Any) -> Connection:
        users = broker.controller.users.table
        for mechanism, credential in CREDENTIALS.items():
            users.put(USER, mechanism, credential)
        lifetime_ms = SESSION_MS if self._flags & ENDS else 0
        security = ListenerSecurity("CLIENTS", SecurityProtocol.SASL_PLAINTEXT, MECHANISMS, lifetime_ms)
        logins = Logins(users, Audit(self._loop.time), failure_delay_ms=100, clock=self._loop.time)
        dispatcher = GuardedDispatcher(broker)
        if self._flags & LOADED:
            dispatcher._loaded = EVERY_VERSION.copy()
        gate = Gate(dispatcher, broker.quotas, broker.access, broker.metrics, security, logins)
        service = LoginService(gate, self.asked)
        listener = WatchedListener(broker, service, [])
        self._scratch = listener.scratch
        self._service = service
        connection = listener.connection()
        connection.connection_made(cast(asyncio.Transport, self.transport))
        return connection

    def check_answers(self) -> None:
        """Messages without a header have answers without one, which cannot be told from others."""
        if not self._service.has_taken_tokens:
            super().check_answers()


class GuardedDispatcher(Dispatcher):
    """The proof that nothing is served without a login."""

    def dispatch(self, request: AnyRequest) -> Reply:
        session = request.session
        if request.api.key not in LOGIN and (not session.authenticated or session.principal != ALICE):
            raise Finding(f"{request.api.name} is served to {session}")
        return super().dispatch(request)


class LoginService(WatchedService):
    """Its channels are watched; frames that have no Kafka header are left as they are."""

    has_taken_tokens = False

    def connected(self, stream: Stream) -> Channel:
        channel = self._service.connected(stream)
        assert isinstance(channel, SaslChannel)
        return LoginChannel(channel, self)


class LoginChannel(WatchedChannel):
    def __init__(self, channel: SaslChannel, service: LoginService) -> None:
        super().__init__(channel, service._asked)
        self._login = channel.login
        self._watching = service

    def serve(self, frame: memoryview) -> Reply:
        if self._login.takes_tokens:
            self._watching.has_taken_tokens = True
            return self._channel.serve(frame)
        return super().serve(frame)


# --- inputs ----------------------------------------------------------------------------------------------------------


def exchange(mechanism: str, password: str = PASSWORD) -> list[bytes]:
    """The messages of a client; with the right password they log it in."""
    if mechanism == "PLAIN":
        return [f"\0{USER}\0{password}".encode()]
    client = ScramClient([mechanism], USER, password, c_nonce="c")
    first = client.get_client_first()
    client.set_server_first(f"r=c{NONCE},s={b64encode(SALT).decode()},i={ITERATIONS}")
    return [first.encode(), client.get_client_final().encode()]


def login(mechanism: str, version: int = 1, password: str = PASSWORD) -> list[bytes]:
    """A handshake and the messages behind it, in the form that its version asks for."""
    messages = exchange(mechanism, password)
    if version:
        messages = [request("sasl_authenticate", 2, auth_bytes=message) for message in messages]
    return [request("sasl_handshake", version, mechanism=mechanism), *messages]


AFTER: Final = ("metadata", 9), ("list_groups", 4), ("describe_user_scram_credentials", 0), ("produce", 9)


@functools.cache
def spare_frames() -> tuple[bytes, ...]:
    spare = [request(api, version) for api, version in AFTER]
    spare += [request("api_versions", version) for version in range(5)]
    for mechanism in MECHANISMS:
        for version in (0, 1):
            spare += login(mechanism, version)
        spare += login(mechanism, 1, "wrong")[1:]
    return tuple(spare)


def seeds() -> dict[str, bytes]:
    after = [request(api, version) for api, version in AFTER]
    found: dict[str, list[bytes]] = {"nothing": [b""], "at-once": after, "token-first": login("PLAIN")[1:]}
    for mechanism in MECHANISMS:
        for version in (0, 1):
            found[f"{mechanism}-v{version}"] = [request("api_versions", 3), *login(mechanism, version), *after]
            found[f"{mechanism}-v{version}-wrong"] = [*login(mechanism, version, "wrong"), *after]
        found[f"{mechanism}-again"] = [*login(mechanism), *after, *login(mechanism), *after]
        found[f"{mechanism}-between"] = [*login(mechanism)[:2], *after, *login(mechanism)[2:]]
    found["other-mechanism"] = [*login("PLAIN"), *login("SCRAM-SHA-256")]
    inputs = {
        f"{name}-{flags}": bytes((flags, flags)) + join_frames(frames)
        for name, frames in found.items()
        for flags in (0, LOADED, LOADED | ENDS)
    }
    return {**inputs, "gssapi": b"\0\0" + frame(b"\x60\x48\x06\x06"), "http": b"\0\0GET / HTTP/1.1\r\n\r\n"}


def mutate(data: bytes, max_bytes: int, choose: random.Random, change: Change) -> bytes:
    if len(data) < 2 or choose.random() < 0.05:
        return change(data, max_bytes)
    head, frames = data[:2], split_frames(data[2:])
    kind = choose.random()
    if kind < 0.1:
        head = bytes((choose.randrange(256), choose.randrange(8)))
    elif kind < 0.4 or not frames:
        rearrange(frames, spare_frames(), choose)
    else:
        at = choose.randrange(len(frames))
        first = choose.choice((0, 2, 4, 8, 15, 15, 15))
        frames[at] = frames[at][:first] + change_somehow(frames[at][first:], max_bytes, choose, change)
    return (head + join_frames(frames))[:max_bytes]
