"""A blocking socket with separate timeouts for reads and writes."""

from __future__ import annotations

import socket
import struct

from penstock.client.push.errors import NotConnected

READ_BYTES = 256 * 1024
_TIMEVAL = struct.Struct("ll")


def open_socket(host: str, port: int, *, connect_timeout_s: float, read_s: float, write_s: float) -> socket.socket:
    """Open a socket. Raises NotConnected, with a remedy in its text."""
    try:
        opened = connected(host, port, connect_timeout_s)
    except OSError as error:
        raise unreachable(host, port, error) from error
    # Not Python's own timeouts: they cost a system call for each read, and reads and writes share one.
    opened.settimeout(None)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _timeval(read_s))
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _timeval(write_s))
    return opened


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


def unreachable(host: str, port: int, error: OSError) -> NotConnected:
    if isinstance(error, socket.gaierror):
        return NotConnected(f"the name {host} is not known ({error.strerror})")
    reason = "no answer in time" if isinstance(error, TimeoutError) else (error.strerror or str(error)).lower()
    place = f"{host}:{port}" if port else host
    return NotConnected(f"no broker at {place} ({reason}); start one with `penstock serve`, or name its push port")


def _timeval(seconds: float) -> bytes:
    whole = int(seconds)
    return _TIMEVAL.pack(whole, max(int((seconds - whole) * 1_000_000), 0 if whole else 1000))
