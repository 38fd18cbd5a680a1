"""All metrics of a node, behind one object that the broker calls.

The methods are what the hot path calls: each a handful of additions on plain numbers (see `timings` for the
reason). `registry` shows them to Prometheus, together with the process and the loop. The long tables, one line per
partition or per group and partition, are not in the registry but in `exposition`, which can be interrupted.

Call everything on the event loop's thread; a thread hands its figures over with `loop.call_soon_threadsafe`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from penstock.observability.loop_lag import LoopLag
from penstock.observability.probes import ConnectionProbe, RequestProbe, StorageProbe, TrafficProbe, counter, gauge
from penstock.observability.process import FileCalls, ProcessProbe
from penstock.observability.quota_probe import QuotaProbe


class Probe(Protocol):
    def families(self) -> Iterator[Metric]: ...


class BrokerMetrics:
    """The counters of one node."""

    def __init__(
        self,
        api_names: Mapping[int, str] | None = None,
        data_dir: Path | None = None,
        file_calls: FileCalls | None = None,
    ) -> None:
        self.requests = RequestProbe(api_names or {})
        self.traffic = TrafficProbe()
        self.connections = ConnectionProbe()
        self.storage = StorageProbe()
        self.quotas = QuotaProbe()
        self.loop_lag = LoopLag()
        self.process = ProcessProbe(data_dir, file_calls)
        self._gauges: dict[str, tuple[str, Callable[[], float]]] = {}
        self._counters: dict[str, tuple[str, Callable[[], float]]] = {}
        self._probes: list[Probe] = []
        self.registry = CollectorRegistry(auto_describe=False)
        self.registry.register(_Snapshot(self))

    # --- traffic -------------------------------------------------------------------------------------------

    def produced(self, messages: int, size_bytes: int, seconds: float) -> None:
        """Count a producer's batch that was appended; a duplicate does not count."""
        traffic, storage = self.traffic, self.storage
        traffic.messages_in += messages
        traffic.bytes_in += size_bytes
        storage.bytes_appended += size_bytes
        storage.append.observe(seconds)

    def fetched(self, size_bytes: int, messages: int = 0) -> None:
        """Count the contents of an answer to a fetch. The caller counts messages by offsets, not by decoding."""
        traffic = self.traffic
        traffic.bytes_out += size_bytes
        traffic.messages_out += messages

    # --- storage -------------------------------------------------------------------------------------------

    def read(self, seconds: float, size_bytes: int = 0) -> None:
        self.storage.read.observe(seconds)
        self.storage.bytes_read += size_bytes

    def flush_round(self, seconds: float, logs: int, files: int, failed: bool = False) -> None:
        storage = self.storage
        storage.flush.observe(seconds)
        storage.flushed_logs += logs
        storage.flushed_files += files
        storage.flush_failures += failed

    def rolled(self, seconds: float) -> None:
        self.storage.roll.observe(seconds)

    def recovered(self, seconds: float, scanned_bytes: int = 0, cut_bytes: int = 0) -> None:
        self.storage.recovery.observe(seconds)
        self.storage.recovered_bytes += scanned_bytes
        self.storage.cut_bytes += cut_bytes

    def compacted(self, seconds: float) -> None:
        self.storage.compaction.observe(seconds)

    def corrupt_batch(self) -> None:
        self.storage.corrupt_batches += 1

    def segments_removed(self, count: int) -> None:
        self.storage.segments_removed += count

    # --- state that other parts own ------------------------------------------------------------------------

    def add_gauge(self, name: str, help_text: str, read: Callable[[], float]) -> None:
        """A value that is asked for at every scrape, such as the number of offline partitions."""
        self._gauges[name] = (help_text, read)

    def add_counter(self, name: str, help_text: str, read: Callable[[], float]) -> None:
        """The same for a value that only rises."""
        self._counters[name] = (help_text, read)

    def add_probe(self, probe: Probe) -> None:
        """Families of a part that a node may have or not."""
        self._probes.append(probe)

    def families(self) -> Iterator[Metric]:
        for probe in (
            self.requests,
            self.traffic,
            self.connections,
            self.quotas,
            self.storage,
            self.loop_lag,
            self.process,
        ):
            yield from probe.families()
        for name, (help_text, read) in self._gauges.items():
            yield gauge(name, help_text, read())
        for name, (help_text, read) in self._counters.items():
            yield counter(name, help_text, read())
        for added in self._probes:
            yield from added.families()


class _Snapshot(Collector):
    """A collector for prometheus-client."""

    def __init__(self, metrics: BrokerMetrics) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        return self._metrics.families()
