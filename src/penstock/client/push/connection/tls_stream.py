"""TLS over a blocking socket that one thread reads while others write.

A socket of the ssl module is for one thread at a time. Here the lock is held while bytes are encrypted or decrypted, in
memory, and not while a thread waits for the network. It has the methods of a socket that `wire` calls.
"""

from __future__ import annotations

import socket
import ssl
import threading
from typing import Final

CIPHERTEXT_BYTES: Final = 64 * 1024


class TlsStream:
    """A stream whose handshake is done when it is made. OSError if that fails; the timeouts are those of the socket."""

    def __init__(self, opened: socket.socket, host: str, context: ssl.SSLContext) -> None:
        self._socket = opened
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=host)
        self._lock = threading.Lock()
        self._sending = threading.Lock()  # before the other: records leave in the order in which they were made
        self._shake_hands()

    def _shake_hands(self) -> None:
        while True:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                self._flush()
                received = self._socket.recv(CIPHERTEXT_BYTES)
                if not received:
                    raise ConnectionResetError("the broker closed the connection in the handshake") from None
                self._incoming.write(received)
            else:
                self._flush()
                return

    def recv(self, size: int) -> bytes:
        """The next bytes; empty at the end. BlockingIOError if none come within the socket's timeout."""
        while True:
            with self._lock:
                try:
                    return self._tls.read(size)
                except ssl.SSLWantReadError:
                    has_output = self._outgoing.pending > 0
                except ssl.SSLZeroReturnError:
                    return b""
            if has_output:
                self._flush()
            received = self._socket.recv(CIPHERTEXT_BYTES)
            if not received:
                return b""
            with self._lock:
                self._incoming.write(received)

    def sendall(self, data: bytes) -> None:
        with self._sending:
            with self._lock:
                self._tls.write(data)
                encrypted = self._outgoing.read()
            self._socket.sendall(encrypted)

    def _flush(self) -> None:
        with self._sending:
            with self._lock:
                encrypted = self._outgoing.read()
            if encrypted:
                self._socket.sendall(encrypted)

    def shutdown(self, how: int) -> None:
        self._socket.shutdown(how)

    def close(self) -> None:
        self._socket.close()
