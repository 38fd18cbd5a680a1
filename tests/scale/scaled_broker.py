"""A real broker process with many partitions, and what can be measured of it from outside.

Times, memory and descriptors come from /proc, the lag of the event loop from /metrics. Lag is a histogram since the
start: the difference of two readings is what happened between them.
"""

import http.client
import struct
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.batches import values
from tests.support.broker_process import HOST
from tests.support.penstock_process import PenstockProcess
from tests.support.raw_client import RawClient
from tests.support.waiting import wait_until
from tests.support.wire import API_KEYS, encode_header, frame

LAG_BUCKET = "penstock_loop_lag_seconds_bucket"
PRODUCE_VERSION = 7
IN_FLIGHT_MAX = 500


@dataclass(slots=True)
class Lag:
    """How late the event loop was in one phase: counts by upper edge, in seconds."""

    counts: dict[float, int] = field(default_factory=dict)

    @property
    def samples(self) -> int:
        return sum(self.counts.values())

    def quantile_ms(self, share: float) -> float:
        """Upper edge of the bucket in which the quantile lies."""
        seen = 0
        for edge, count in sorted(self.counts.items()):
            seen += count
            if seen >= share * self.samples:
                return edge * 1000
        return float("inf")

    def over(self, seconds: float) -> int:
        return sum(count for edge, count in self.counts.items() if edge > seconds)

    def __str__(self) -> str:
        worst = max((edge for edge, count in self.counts.items() if count), default=0.0) * 1000
        quantiles = f"p50 ≤ {self.quantile_ms(0.5):g} ms, p99.9 ≤ {self.quantile_ms(0.999):g} ms, worst ≤ {worst:g} ms"
        return f"{quantiles} ({self.over(0.01)} of {self.samples} over 10 ms)"


class ScaledBroker(PenstockProcess):
    """Started and measured like any user's broker."""

    def start_timed(self) -> float:
        """Start it; seconds until /health/ready says yes."""
        started = time.perf_counter()
        self.start()
        wait_until(self.is_ready, what="/health/ready", within_s=60)
        return time.perf_counter() - started

    def stop_timed(self) -> float:
        started = time.perf_counter()
        self.stop()
        return time.perf_counter() - started

    def get(self, path: str) -> tuple[int, str]:
        connection = http.client.HTTPConnection(HOST, self.http_port, timeout=60)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def is_ready(self) -> bool:
        try:
            return self.get("/health/ready")[0] == 200
        except OSError:
            return False

    def samples(self, name: str) -> dict[str, float]:
        """The lines of one metric: what is between the braces, and the value."""
        found: dict[str, float] = {}
        for line in self.get("/metrics")[1].splitlines():
            if line.startswith((name + "{", name + " ")):
                labels, value = line[len(name) :].rsplit(" ", 1)
                found[labels.strip("{}")] = float(value)
        return found

    def lag(self) -> dict[float, int]:
        counts: dict[float, int] = {}
        before = 0
        for labels, value in self.samples(LAG_BUCKET).items():
            counts[float(labels.partition('"')[2].rstrip('"'))] = int(value) - before
            before = int(value)
        return counts

    @contextmanager
    def watched(self) -> Iterator[Lag]:
        """The lag of the event loop between beginning and end."""
        before = self.lag()
        lag = Lag()
        yield lag
        lag.counts = {edge: count - before[edge] for edge, count in self.lag().items()}

    def anonymous_mb(self) -> float:
        status = Path(f"/proc/{self.pid}/status").read_text()
        (line,) = (line for line in status.splitlines() if line.startswith("RssAnon"))
        return int(line.split()[1]) / 1024

    def open_files(self) -> int:
        return len(list(Path(f"/proc/{self.pid}/fd").iterdir()))

    def create(self, topics: Sequence[str], partitions: int, configs: Mapping[str, str] | None = None) -> None:
        wanted = [
            {
                "name": name,
                "num_partitions": partitions,
                "replication_factor": 1,
                "assignments": [],
                "configs": [{"name": key, "value": value} for key, value in (configs or {}).items()],
            }
            for name in topics
        ]
        with RawClient(self.host, self.port, timeout_s=60) as client:
            answer = client.call("create_topics", 4, topics=wanted, timeout=60_000, validate_only=False)
        assert all(int(topic.error_code) == 0 for topic in answer.topics), answer

    def write_all(self, topics: Sequence[str], partitions: int) -> float:
        """One batch into every partition, many requests under way; seconds until the last is acknowledged."""
        batch = values("x" * 100)
        frames = [produce_frame(topic, index, batch) for index in range(partitions) for topic in topics]
        started = time.perf_counter()
        self.write_frames(frames)
        return time.perf_counter() - started

    def write_frames(self, frames: Sequence[bytes], in_flight_max: int = IN_FLIGHT_MAX) -> None:
        with RawClient(self.host, self.port, timeout_s=60) as client:
            answered = 0
            for sent, request in enumerate(frames):
                while sent - answered >= in_flight_max:
                    assert produce_error(client.receive_frame()) == 0
                    answered += 1
                client.send_bytes(request)
            for _ in range(answered, len(frames)):
                assert produce_error(client.receive_frame()) == 0


def produce_frame(topic: str, partition: int, batch: bytes) -> bytes:
    """Produce with acks=all and one batch, written by hand: ten thousand of them take no time."""
    name = topic.encode()
    head = encode_header(API_KEYS["produce"], PRODUCE_VERSION, 1, client_id=None)
    body = struct.pack(">hhii", -1, -1, 60_000, 1) + struct.pack(">h", len(name)) + name
    return frame(head + body + struct.pack(">iii", 1, partition, len(batch)) + batch)


def produce_error(answer: bytes) -> int:
    (name_length,) = struct.unpack_from(">h", answer, 8)
    return int(struct.unpack_from(">h", answer, 8 + 2 + name_length + 4 + 4)[0])
