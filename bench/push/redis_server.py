"""Redis with `appendfsync always`, for comparison: like the push door it answers when the message is on disk."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

from bench.rivals import HOST, free_port

START_SECONDS = 20.0


class RedisServer:
    def __init__(self, directory: Path) -> None:
        if shutil.which("redis-server") is None:
            raise RuntimeError("there is no redis-server; make bench-push installs it (Debian: redis-server)")
        directory.mkdir(parents=True)
        self.port = free_port()
        settings = {
            "bind": HOST, "port": self.port, "dir": directory, "save": "", "appendonly": "yes",
            "appendfsync": "always", "daemonize": "no", "logfile": directory / "redis.log",
        }  # fmt: skip
        flags = [text for key, value in settings.items() for text in (f"--{key}", str(value))]
        self._process = subprocess.Popen(["redis-server", *flags], stdin=subprocess.DEVNULL)

    def wait(self) -> None:
        from redis import Redis
        from redis.exceptions import ConnectionError as Refused

        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                with Redis(HOST, self.port) as client:
                    client.ping()
                    return
            except Refused:
                if time.monotonic() > deadline or self._process.poll() is not None:
                    raise RuntimeError("Redis did not start") from None
                time.sleep(0.02)

    def fill(self, stream: str, bodies: list[bytes]) -> None:
        from redis import Redis

        with Redis(HOST, self.port) as client:
            for start in range(0, len(bodies), 1000):
                pipeline = client.pipeline(transaction=False)
                for content in bodies[start : start + 1000]:
                    pipeline.xadd(stream, {"body": content})
                pipeline.execute()

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait()
