"""`python -m bench [--seconds N] [--against HOST:PORT] [work …]`: measure Penstock, or any Kafka broker.

Without --against a broker is started on free ports with a directory of its own, and its start time and memory are
figures, too.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import socket
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from bench.work import WORK, Address, Figures

RESULTS = Path(__file__).parent / "results"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class OwnBroker:
    """A Penstock of our own."""

    def __init__(self, directory: str) -> None:
        self.address: Address = ("127.0.0.1", free_port())
        started = time.perf_counter()
        ports = ("--kafka-port", str(self.address[1]), "--http-port", str(free_port()))
        command = (sys.executable, "-m", "penstock", "serve", "--data-dir", directory, "--log-level", "WARNING", *ports)
        self._process = subprocess.Popen(command)
        while True:
            try:
                socket.create_connection(self.address, timeout=1).close()
                break
            except OSError:
                if self._process.poll() is not None or time.perf_counter() > started + 30:
                    raise RuntimeError("the broker did not start") from None
                time.sleep(0.005)
        self.start_seconds = time.perf_counter() - started

    def memory(self) -> Figures:
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        fields = dict(line.split(":", 1) for line in status.splitlines() if line.startswith("Rss"))
        return {name: int(value.split()[0]) / 1024 for name, value in fields.items()}

    def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(30)


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("work", nargs="*", help=f"what to measure, all by default: {', '.join(WORK)}")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--against", metavar="HOST:PORT")
    options = parser.parse_args()
    if unknown := set(options.work) - set(WORK):
        parser.error(f"unknown work {', '.join(sorted(unknown))}; there is {', '.join(WORK)}")
    figures: dict[str, Figures] = {}
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as directory:
        broker = None if options.against else OwnBroker(directory)
        if broker is None:
            host, _, port = options.against.rpartition(":")
            address: Address = (host, int(port))
        else:
            address = broker.address
            figures["start"] = {"seconds": broker.start_seconds}
            figures["memory_idle"] = broker.memory()
        try:
            for name in options.work or WORK:
                figures[name] = WORK[name](address, options.seconds)
                print(
                    f"{name:16}", "  ".join(f"{key} {value:,.2f}" for key, value in figures[name].items()), flush=True
                )
            if broker is not None:
                figures["memory_loaded"] = broker.memory()
        finally:
            if broker is not None:
                broker.stop()
    for name in ("start", "memory_idle", "memory_loaded"):
        if name in figures:
            print(f"{name:16}", "  ".join(f"{key} {value:,.2f}" for key, value in figures[name].items()))
    _save(figures, options.against)
    return 0


def _save(figures: dict[str, Figures], against: str | None) -> None:
    RESULTS.mkdir(exist_ok=True)
    now = datetime.now(UTC)
    result = {
        "at": now.isoformat(timespec="seconds"),
        "broker": against or "penstock",
        "machine": {"cores": os.cpu_count(), "python": platform.python_version(), "system": platform.platform()},
        "figures": figures,
    }
    path = RESULTS / f"{now:%Y%m%d-%H%M%S}.json"
    path.write_text(json.dumps(result, indent=2) + "\n")
    print(f"written to {path}")


if __name__ == "__main__":
    sys.exit(main())
