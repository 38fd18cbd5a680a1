"""Whether a port speaks TLS. A client without TLS learns nothing there: such a port closes the connection.

The first message of a handshake is sent and the first bytes of the answer are looked at, no more.
"""

from __future__ import annotations

import socket
import ssl
from typing import Final

# RFC 8446, 5.1: records of these types, an alert or a handshake, with a version that begins with 3.
_RECORD_TYPES: Final = (21, 22)
_VERSION_MAJOR: Final = 3
_HEADER_BYTES: Final = 2


def speaks_tls(host: str, port: int, timeout_s: float) -> bool:
    """False also if nobody answers."""
    try:
        with socket.create_connection((host, port), timeout_s) as stream:
            stream.sendall(_hello())
            answer = stream.recv(_HEADER_BYTES, socket.MSG_WAITALL)
    except OSError:
        return False
    return len(answer) == _HEADER_BYTES and answer[0] in _RECORD_TYPES and answer[1] == _VERSION_MAJOR


def _hello() -> bytes:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # nothing is sent behind the hello, and nothing is believed
    outgoing = ssl.MemoryBIO()
    try:
        context.wrap_bio(ssl.MemoryBIO(), outgoing).do_handshake()
    except ssl.SSLWantReadError:
        pass  # the answer to it
    return outgoing.read()
