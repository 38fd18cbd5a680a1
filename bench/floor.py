"""`python -m bench.floor`: what no broker that syncs before it answers can beat on this machine.

One small write into room that is there already and its fdatasync, and one round trip over loopback between two
processes: an acknowledgement is at least both. With five requests in flight that share every sync, five of them.
"""

from __future__ import annotations

import os
import socket
import tempfile
import time
from pathlib import Path

from bench.spread import spread

WRITES = 3_000
WRITE_BYTES = 200
ROOM_BYTES = WRITES * WRITE_BYTES
ROUND_TRIPS = 10_000
IN_FLIGHT = 5


def sync_latencies(directory: Path) -> list[float]:
    """Seconds of each write with its sync."""
    latencies = []
    descriptor = os.open(directory / "floor", os.O_RDWR | os.O_CREAT)
    os.posix_fallocate(descriptor, 0, ROOM_BYTES)
    os.fsync(descriptor)
    data = bytes(range(WRITE_BYTES))
    for number in range(WRITES):
        started = time.perf_counter()
        os.pwrite(descriptor, data, number * WRITE_BYTES)
        os.fdatasync(descriptor)
        latencies.append(time.perf_counter() - started)
    os.close(descriptor)
    return latencies


def round_trips() -> list[float]:
    """Seconds of each exchange of a small message with a process that only echoes."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()
        child = os.fork()
        if child == 0:
            with server.accept()[0] as peer:
                while data := peer.recv(4096):
                    peer.sendall(data)
            os._exit(0)
        latencies = []
        with socket.create_connection(address) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for _ in range(ROUND_TRIPS):
                started = time.perf_counter()
                connection.sendall(bytes(WRITE_BYTES))
                connection.recv(4096)
                latencies.append(time.perf_counter() - started)
        os.waitpid(child, 0)
    return latencies


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="penstock-floor-") as directory:
        syncs = spread(sync_latencies(Path(directory)))
    trips = spread(round_trips())
    print(f"a small write and its sync      p50 {syncs['p50_ms']:.3f} ms   p99 {syncs['p99_ms']:.3f} ms")
    print(f"a round trip over loopback      p50 {trips['p50_ms']:.3f} ms   p99 {trips['p99_ms']:.3f} ms")
    floor_ms = syncs["p50_ms"] + trips["p50_ms"]
    print(f"an acknowledgement on disk      p50 {floor_ms:.3f} ms at least")
    print(f"one message a request, {IN_FLIGHT} in flight: at most {IN_FLIGHT * 1000 / floor_ms:,.0f} requests/s")


if __name__ == "__main__":
    main()
