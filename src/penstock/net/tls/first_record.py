"""The first record of a TLS stream, the ClientHello: whether all of it is there, before anything is made for it.

A handshake that began with less would hold its place for a client that says no more.
"""

from __future__ import annotations

import select
import socket
from typing import Final

HANDSHAKE: Final = 0x16
"""The first byte of a record that belongs to a handshake."""
HEADER_BYTES: Final = 5
RECORD_BYTES_MAX: Final = HEADER_BYTES + (1 << 14)


def record_bytes(beginning: bytes) -> int:
    """The length of the record that begins like this; that of a header, while less is known."""
    if len(beginning) < HEADER_BYTES:
        return HEADER_BYTES
    return min(HEADER_BYTES + int.from_bytes(beginning[3:HEADER_BYTES], "big"), RECORD_BYTES_MAX)


def wake_at(stream: socket.socket, count: int) -> None:
    """Let a socket be readable when it has this many bytes, its peer has gone, or the system is short of memory."""
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, count)


def has_ended(stream: socket.socket) -> bool:
    """Whether the peer has gone, or will send nothing more."""
    poll = select.poll()
    poll.register(stream, select.POLLRDHUP)  # and what is always reported: an error, a reset
    return bool(poll.poll(0))
