"""Bytes of TLS clients that cost themselves nothing and a careless server much, before it knows anything of them."""

from __future__ import annotations

import os
import random
import socket
import struct
from typing import Final

PRIME: Final = 2431 * 2**644 + 1
"""A root modulo a prime like this takes as many steps as the square of 644."""
FFDHE8192: Final = 0x0104
SECP256R1: Final = 0x0017
SIGNATURES: Final = bytes.fromhex("04030503080408050806")
_SERVER_HELLO_DONE = 14


def hello_of_a_finite_field() -> bytes:
    """A ClientHello of TLS 1.3 whose only key share is a number of 8,192 bits, which it has not computed."""
    share = b"\x7f" + os.urandom(1023)
    extensions = (
        _extension(10, struct.pack(">HH", 2, FFDHE8192))
        + _extension(13, struct.pack(">H", len(SIGNATURES)) + SIGNATURES)
        + _extension(43, b"\x02\x03\x04")
        + _extension(51, struct.pack(">HHH", len(share) + 4, FFDHE8192, len(share)) + share)
    )
    return _hello(extensions, session=os.urandom(32), suites=bytes.fromhex("130113021303"))


def show_certificates(stream: socket.socket, count: int) -> None:
    """Begin a handshake of TLS 1.2, and answer the request for certificates with expensive ones."""
    extensions = (
        _extension(10, struct.pack(">HH", 2, SECP256R1))
        + _extension(11, b"\x01\x00")
        + _extension(13, struct.pack(">H", len(SIGNATURES)) + SIGNATURES)
    )
    stream.sendall(_hello(extensions, session=b"", suites=bytes.fromhex("c02bc02fc02cc030")))
    _read_flight(stream)
    chain = b"".join(len(each).to_bytes(3, "big") + each for each in map(_certificate, range(count)))
    message = _message(11, len(chain).to_bytes(3, "big") + chain)
    stream.sendall(b"".join(_record(message[at : at + 16384], 0x0303) for at in range(0, len(message), 16384)))


def _read_flight(stream: socket.socket) -> None:
    """The server's messages, up to the last one of its turn."""
    received, messages = b"", b""
    while True:
        received += stream.recv(65536)
        while len(received) >= 5 and len(received) >= 5 + (size := int.from_bytes(received[3:5], "big")):
            messages += received[5 : 5 + size]
            received = received[5 + size :]
        while len(messages) >= 4 and len(messages) >= 4 + (size := int.from_bytes(messages[1:4], "big")):
            if messages[0] == _SERVER_HELLO_DONE:
                return
            messages = messages[4 + size :]


def _hello(extensions: bytes, *, session: bytes, suites: bytes) -> bytes:
    body = b"\x03\x03" + os.urandom(32) + bytes([len(session)]) + session
    body += struct.pack(">H", len(suites)) + suites + b"\x01\x00" + struct.pack(">H", len(extensions)) + extensions
    return _record(_message(1, body), 0x0301)


def _record(content: bytes, version: int) -> bytes:
    return struct.pack(">BHH", 22, version, len(content)) + content


def _message(kind: int, body: bytes) -> bytes:
    return bytes([kind]) + len(body).to_bytes(3, "big") + body


def _extension(kind: int, body: bytes) -> bytes:
    return struct.pack(">HH", kind, len(body)) + body


# --- certificates ----------------------------------------------------------------------------------------------------


def _certificate(seed: int) -> bytes:
    """One whose key is a point of a curve that it describes itself; points have one coordinate and a sign."""
    generator = random.Random(seed)
    constant = generator.randrange(2, 1000)
    curve = _sequence(
        _integer(1),
        _sequence(_name(1, 2, 840, 10045, 1, 1), _integer(PRIME)),
        _sequence(_value(4, b"\0"), _value(4, constant.to_bytes(2, "big"))),
        _value(4, _point(generator, constant)),
        _integer(generator.randrange(2**30, 2**31) | 1),
    )
    key = _sequence(_sequence(_name(1, 2, 840, 10045, 2, 1), curve), _value(3, b"\0" + _point(generator, constant)))
    algorithm = _sequence(_name(1, 2, 840, 10045, 4, 3, 2))
    times = _sequence(_value(0x17, b"250101000000Z"), _value(0x17, b"350101000000Z"))
    signed = _sequence(_integer(1), algorithm, _sequence(), times, _sequence(), key)
    return _sequence(signed, algorithm, _value(3, b"\0\x30\0"))


def _point(generator: random.Random, constant: int) -> bytes:
    while True:
        x = generator.randrange(PRIME)
        if pow(x * x * x + constant, (PRIME - 1) // 2, PRIME) == 1:
            return bytes([2 + generator.randrange(2)]) + x.to_bytes((PRIME.bit_length() + 7) // 8, "big")


def _value(kind: int, content: bytes) -> bytes:
    size = len(content)
    length = bytes([size]) if size < 128 else bytes([0x82]) + struct.pack(">H", size)
    return bytes([kind]) + length + content


def _integer(number: int) -> bytes:
    return _value(2, number.to_bytes(number.bit_length() // 8 + 1, "big"))


def _sequence(*parts: bytes) -> bytes:
    return _value(0x30, b"".join(parts))


def _name(*arcs: int) -> bytes:
    content = bytes([arcs[0] * 40 + arcs[1]])
    for arc in arcs[2:]:
        pieces = [arc & 127]
        while arc := arc >> 7:
            pieces.append(128 | arc & 127)
        content += bytes(reversed(pieces))
    return _value(6, content)
