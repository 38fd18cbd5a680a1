"""A blocking socket with separate timeouts for reads and writes, plain or under TLS."""

from __future__ import annotations

import socket
import ssl
import struct
from typing import Protocol

from penstock.client.push.errors import NotConnected
from penstock.client.security.properties import ClientSecurity, SecurityProblem
from penstock.client.security.tls_problem import tls_problem

READ_BYTES = 256 * 1024
# A connection that was made, and ended in the handshake.
_BROKEN = (ConnectionResetError, ConnectionAbortedError, BrokenPipeError, ssl.SSLEOFError)
_NO_TLS = "if it has no TLS there, set security.protocol to PLAINTEXT, or to SASL_PLAINTEXT if it wants a login"
_TIMEVAL = struct.Struct("ll")


class Stream(Protocol):
    """A connected socket, or TLS over one."""

    def recv(self, size: int, /) -> bytes: ...

    def sendall(self, data: bytes, /) -> None: ...

    def shutdown(self, how: int, /) -> None: ...

    def close(self) -> None: ...


def open_socket(
    host: str, port: int, security: ClientSecurity, *, connect_timeout_s: float, read_s: float, write_s: float
) -> Stream:
    """Open a stream. Raises NotConnected, with a remedy in its text."""
    stream: Stream
    try:
        stream = opened = connected(host, port, connect_timeout_s)
        if security.has_tls:
            stream = _encrypted(opened, host, security)
    except OSError as error:
        raise unreachable(host, port, error, security) from error
    except SecurityProblem as problem:
        raise NotConnected(str(problem)) from problem
    # Not Python's own timeouts: they cost a system call for each read, and reads and writes share one.
    opened.settimeout(None)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _timeval(read_s))
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _timeval(write_s))
    return stream


def _encrypted(opened: socket.socket, host: str, security: ClientSecurity) -> Stream:
    from penstock.client.push.connection.tls_stream import TlsStream
    from penstock.client.security.tls import client_context

    try:
        return TlsStream(opened, host, client_context(security))
    except BaseException:
        opened.close()
        raise


def connected(host: str, port: int, timeout_s: float) -> socket.socket:
    """A connected socket. A host without a port names its network: unix:/path. OSError if nothing listens there."""
    if not port and ":" in host:
        from penstock.net.endpoint import Endpoint
        from penstock.net.networks import network_of

        endpoint = Endpoint(host, port)
        return network_of(endpoint).client().connect(endpoint, timeout_s)
    opened = socket.create_connection((host, port), timeout_s)
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return opened


def unreachable(host: str, port: int, error: OSError, security: ClientSecurity) -> NotConnected:
    if isinstance(error, socket.gaierror):
        return NotConnected(f"the name {host} is not known ({error.strerror})")
    problem = tls_problem(error)
    if problem is not None:
        return NotConnected(f"{host}:{port} {problem}")
    reason = "no answer in time" if isinstance(error, TimeoutError) else (error.strerror or str(error)).lower()
    place = f"{host}:{port}" if port else host
    if security.has_tls and isinstance(error, _BROKEN):
        return NotConnected(f"{place} does not shake hands ({reason}); {_NO_TLS}")
    return NotConnected(f"no broker at {place} ({reason}); start one with `penstock serve`, or name its push port")


def _timeval(seconds: float) -> bytes:
    whole = int(seconds)
    return _TIMEVAL.pack(whole, max(int((seconds - whole) * 1_000_000), 0 if whole else 1000))
