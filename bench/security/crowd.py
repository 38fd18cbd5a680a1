"""Thousands of connections that are opened at the same time, plain or each with a handshake of TLS and a login.

One thread drives all of them. What it costs is measured with the rest: the password is hashed once, since all users
have one salt, so that a login costs the generator two hashes; a handshake costs it about what it costs the broker.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import select
import socket
import ssl
import struct
import time
from collections.abc import Generator
from contextlib import suppress
from typing import Final

from bench.security.brokers import MECHANISM, PASSWORD, USER
from bench.wire import API_VERSIONS, Address, frame
from penstock.security.users.credential import salted_password, stored_key

UNDER_WAY: Final = 256
"""Connections that are being set up at any time; clients that come back after a restart are as many."""
SOURCES: Final = 8
"""Addresses of the machine that connections come from, so that ports are not what they wait for."""
ANSWER_TIMEOUT_S: Final = 60.0
_SASL_HANDSHAKE, _SASL_AUTHENTICATE = 17, 36
_INT16, _INT32 = struct.Struct(">h"), struct.Struct(">i")
_ERROR_AT: Final = 4  # behind the correlation id, in the answers of all requests here

Steps = Generator[bytes, bytes, None]
"""Requests of a client, each yielded when the answer to the one before was sent in."""


class ScramProofs:
    """The client's side of SCRAM for one user: slow for the first login, a few hashes for each further one."""

    def __init__(self) -> None:
        self._keys: dict[tuple[bytes, int], tuple[bytes, bytes]] = {}

    def final(self, first_bare: str, server_first: str) -> bytes:
        """The last message of the client."""
        parts = dict(part.split("=", 1) for part in server_first.split(","))
        client_key, stored = self._keys_of(base64.b64decode(parts["s"]), int(parts["i"]))
        without_proof = f"c=biws,r={parts['r']}"
        signed = f"{first_bare},{server_first},{without_proof}".encode()
        signature = hmac.digest(stored, signed, MECHANISM.hash_name)
        proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        return f"{without_proof},p={base64.b64encode(proof).decode()}".encode()

    def _keys_of(self, salt: bytes, iterations: int) -> tuple[bytes, bytes]:
        keys = self._keys.get((salt, iterations))
        if keys is None:
            salted = salted_password(MECHANISM, PASSWORD.encode(), salt, iterations)
            client_key = hmac.digest(salted, b"Client Key", MECHANISM.hash_name)
            assert hashlib.new(MECHANISM.hash_name, client_key).digest() == stored_key(MECHANISM, salted)
            keys = self._keys[salt, iterations] = client_key, stored_key(MECHANISM, salted)
        return keys


def only_ask() -> Steps:
    """ApiVersions, as a client without a login begins."""
    yield API_VERSIONS


def log_in(proofs: ScramProofs) -> Steps:
    """The four requests of a login, one after the other, as clients send them."""
    yield API_VERSIONS
    name = MECHANISM.title.encode()
    _check((yield frame(_SASL_HANDSHAKE, 1, _INT16.pack(len(name)) + name)))
    first_bare = f"n={USER},r={secrets.token_urlsafe(18)}"
    answer = _auth_bytes((yield _authenticate(f"n,,{first_bare}".encode())))
    answer = _auth_bytes((yield _authenticate(proofs.final(first_bare, answer.decode()))))
    if not answer.startswith(b"v="):
        raise RuntimeError("the broker has not shown that it knows the user")


def _authenticate(message: bytes) -> bytes:
    return frame(_SASL_AUTHENTICATE, 1, _INT32.pack(len(message)) + message)


def _check(answer: bytes) -> None:
    (code,) = _INT16.unpack_from(answer, _ERROR_AT)
    if code:
        raise RuntimeError(f"the login was refused: error {code}")


def _auth_bytes(answer: bytes) -> bytes:
    _check(answer)
    (text,) = _INT16.unpack_from(answer, _ERROR_AT + 2)
    at = _ERROR_AT + 4 + max(text, 0)
    (size,) = _INT32.unpack_from(answer, at)
    return answer[at + 4 : at + 4 + size]


class Member:
    """One connection. `steps` are its requests; `took` the seconds until the last of them was answered."""

    def __init__(self, address: Address, source: str, steps: Steps, context: ssl.SSLContext | None) -> None:
        self.stream = _connecting(address, source)
        self.took = 0.0
        self.is_up = False
        self._began = time.perf_counter()
        self._steps = steps
        self._received = b""
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls: ssl.SSLObject | None = None
        self._shakes_hands = context is not None
        if context is not None:
            self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=address[0])

    def connected(self) -> None:
        error = self.stream.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if error:
            raise ConnectionError(f"a connection failed: error {error}")
        if self._shakes_hands:
            self._shake_hands()
        else:
            self._send(next(self._steps))

    def readable(self) -> None:
        received = self.stream.recv(65536)
        if not received:
            raise ConnectionError("the broker closed a connection")
        if self._tls is None:
            self._take(received)
            return
        self._incoming.write(received)
        if self._shakes_hands:
            self._shake_hands()
        else:
            with suppress(ssl.SSLWantReadError):
                while self._incoming.pending or self._tls.pending():
                    self._take(self._tls.read(65536))

    def ask(self) -> None:
        """Ask once more; the answer makes the connection up again."""
        self.is_up = False
        self._steps = only_ask()
        self._send(next(self._steps))

    def _shake_hands(self) -> None:
        assert self._tls is not None
        with suppress(ssl.SSLWantReadError):
            self._tls.do_handshake()
            self._shakes_hands = False
            self._tls.write(next(self._steps))
        self._flush()

    def _take(self, received: bytes) -> None:
        self._received += received
        while len(self._received) >= 4:
            end = 4 + _INT32.unpack_from(self._received)[0]
            if len(self._received) < end:
                return
            answer, self._received = self._received[4:end], self._received[end:]
            try:
                self._send(self._steps.send(answer))
            except StopIteration:
                self.is_up = True
                self.took = time.perf_counter() - self._began

    def _send(self, request: bytes) -> None:
        if self._tls is None:
            self.stream.sendall(request)
        else:
            self._tls.write(request)
            self._flush()

    def _flush(self) -> None:
        if self._outgoing.pending:
            self.stream.sendall(self._outgoing.read())

    def close(self) -> None:
        """With a reset, so that no port has to wait before it can be used again."""
        self.stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.stream.close()


def _connecting(address: Address, source: str) -> socket.socket:
    stream = socket.socket()
    stream.setblocking(False)
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    stream.bind((source, 0))
    with suppress(BlockingIOError):
        stream.connect(address)
    return stream


class Crowd:
    """Connections to one address, all of them with TLS and a login if there is a context."""

    def __init__(self, address: Address, context: ssl.SSLContext | None) -> None:
        self._address = address
        self._context = context
        self._proofs = ScramProofs()
        self._poll = select.epoll()
        self.members: dict[int, Member] = {}

    def open(self, count: int) -> float:
        """Set them up; the seconds until the last one is up. RuntimeError or OSError if one is not."""
        started = time.perf_counter()
        up = 0
        while up < count:
            while len(self.members) < min(count, up + UNDER_WAY):
                self._begin(len(self.members))
            up += self._turn()
        return time.perf_counter() - started

    def ask_all(self) -> None:
        """One more request on every connection: each is still served."""
        waiting = list(self.members.values())
        while waiting:
            asked, waiting = waiting[:UNDER_WAY], waiting[UNDER_WAY:]
            for member in asked:
                member.ask()
            left = len(asked)
            while left:
                left -= self._turn()

    def _begin(self, number: int) -> None:
        steps = only_ask() if self._context is None else log_in(self._proofs)
        member = Member(self._address, f"127.0.0.{1 + number % SOURCES}", steps, self._context)
        descriptor = member.stream.fileno()
        self.members[descriptor] = member
        self._poll.register(descriptor, select.EPOLLOUT)

    def _turn(self) -> int:
        """Serve what is ready; how many connections are up now that were not before."""
        ready = self._poll.poll(ANSWER_TIMEOUT_S)
        if not ready:
            raise TimeoutError("no answer on any connection")
        up = 0
        for descriptor, events in ready:
            member = self.members[descriptor]
            if events & select.EPOLLOUT:
                self._poll.modify(descriptor, select.EPOLLIN)
                member.connected()
            else:
                member.readable()
            up += member.is_up
        return up

    def close(self) -> None:
        self._poll.close()
        for member in self.members.values():
            member.close()
