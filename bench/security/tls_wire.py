"""An encrypted connection that costs the load generator little.

A socket of the ssl module makes two system calls for each record of 16 KiB that it receives and one for each that it
sends. Here records are decrypted from memory, so that one call takes as many as there are.
"""

from __future__ import annotations

import mmap
import ssl
from functools import partial
from typing import cast

from bench.wire import WASTE, Address, Connect, Wire

RECEIVED_BYTES = 256 * 1024


def tls_connect(context: ssl.SSLContext) -> Connect:
    """A function that makes encrypted connections."""
    return partial(TlsWire, context=context)


class TlsWire(Wire):
    """One connection, blocking, after its handshake."""

    def __init__(self, address: Address, context: ssl.SSLContext) -> None:
        super().__init__(address)
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._buffer = memoryview(mmap.mmap(-1, RECEIVED_BYTES))  # a bytearray begins where the kernel copies slowly
        self.tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=address[0])
        try:
            self._shake_hands()
        except BaseException:
            self.close()
            raise

    def _shake_hands(self) -> None:
        while True:
            try:
                self.tls.do_handshake()
            except ssl.SSLWantReadError:
                self._flush()
                self._receive_records()
            else:
                self._flush()
                return

    def _flush(self) -> None:
        if self._outgoing.pending:
            self.socket.sendall(self._outgoing.read())

    def _receive_records(self) -> None:
        received = self.socket.recv_into(self._buffer)
        if not received:
            raise ConnectionError("the broker closed the connection")
        self._incoming.write(self._buffer[:received])

    def send(self, frame: bytes | bytearray | memoryview) -> None:
        self.tls.write(frame)
        self._flush()

    def receive_some(self, buffer: memoryview) -> int:
        while True:
            if not self._incoming.pending and not self.tls.pending():
                self._receive_records()
            try:
                return cast(int, self.tls.read(len(buffer), buffer))  # bytes only without a buffer
            except ssl.SSLWantReadError:  # a part of a record
                self._receive_records()

    def take(self, size: int) -> bytearray:
        buffer = bytearray(size)
        view = memoryview(buffer)
        have = 0
        while have < size:
            have += self._counted(view[have:])
        return buffer

    def discard(self, size: int) -> None:
        waste = memoryview(WASTE)
        while size:
            size -= self._counted(waste[: min(size, len(waste))])

    def _counted(self, buffer: memoryview) -> int:
        received = self.receive_some(buffer)
        if not received:
            raise ConnectionError("the broker closed the connection")
        return received

    def close(self) -> None:
        """Without the closing messages of TLS, as most clients end."""
        self.socket.close()
