"""Counters of the broker, as plain numbers that the code on the hot path adds to.

Each probe has one subject, is fed on the event loop's thread, and knows how to show itself as Prometheus families.
Names are the contract with dashboards and alerts: change one only with `deploy/prometheus/alerts.yml`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from penstock.observability.timings import Timings, histogram, labelled_histogram


def counter(name: str, help_text: str, value: float) -> CounterMetricFamily:
    return CounterMetricFamily(name, help_text, value=value)


def gauge(name: str, help_text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, help_text, value=value)


def labelled_counter(
    name: str, help_text: str, labels: Sequence[str], values: Iterable[tuple[Sequence[str], int]]
) -> CounterMetricFamily:
    family = CounterMetricFamily(name, help_text, labels=labels)
    for key, value in values:
        family.add_metric(key, value)
    return family


def labelled_gauge(
    name: str, help_text: str, labels: Sequence[str], values: Iterable[tuple[Sequence[str], float]]
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, help_text, labels=labels)
    for key, value in values:
        family.add_metric(key, value)
    return family


class RequestProbe:
    """Requests by API: how many, how long from the last byte read to the answer handed to the socket."""

    def __init__(self, api_names: Mapping[int, str]) -> None:
        self._names = api_names
        self._timings: defaultdict[int, Timings] = defaultdict(Timings)
        self._errors: Counter[tuple[int, str]] = Counter()

    def observe(self, api_key: int, seconds: float) -> None:
        self._timings[api_key].observe(seconds)

    def failed(self, api_key: int, error: str) -> None:
        """An answer with an error code, or a request that could not be answered ('closed')."""
        self._errors[api_key, error] += 1

    def count(self, api_key: int) -> int:
        return self._timings[api_key].count if api_key in self._timings else 0

    def families(self) -> Iterator[Metric]:
        by_name = {self._names.get(key, str(key)): timings for key, timings in sorted(self._timings.items())}
        yield labelled_counter(
            "penstock_requests", "Requests answered", ["api"], (([name], t.count) for name, t in by_name.items())
        )
        yield labelled_histogram(
            "penstock_request_seconds", "Time from request to answer, waits included", "api", by_name
        )
        errors = (((self._names.get(key, str(key)), error), n) for (key, error), n in self._errors.items())
        yield labelled_counter("penstock_request_errors", "Error codes answered", ["api", "error"], errors)


class TrafficProbe:
    """Messages and bytes through the doors."""

    __slots__ = ("bytes_in", "bytes_out", "messages_in", "messages_out")

    def __init__(self) -> None:
        self.bytes_in = self.bytes_out = self.messages_in = self.messages_out = 0

    def families(self) -> Iterator[Metric]:
        yield counter("penstock_messages_in", "Records appended by producers", self.messages_in)
        yield counter("penstock_messages_out", "Records sent to consumers", self.messages_out)
        yield counter("penstock_bytes_in", "Bytes of record batches appended by producers", self.bytes_in)
        yield counter("penstock_bytes_out", "Bytes of record batches sent to consumers", self.bytes_out)


class ConnectionProbe:
    """Connections of the Kafka door."""

    def __init__(self) -> None:
        self.open = 0
        self.opened_total = 0
        self._broken: Counter[str] = Counter()

    def opened(self) -> None:
        self.open += 1
        self.opened_total += 1

    def closed(self) -> None:
        self.open -= 1

    def broken(self, reason: str) -> None:
        """Closed by us: 'bad request', 'idle' for long, 'silent', without a complete request so far, or 'disconnected'
        by an operator."""
        self._broken[reason] += 1

    def families(self) -> Iterator[Metric]:
        yield gauge("penstock_connections", "Open connections", self.open)
        yield counter("penstock_connections_opened", "Connections accepted", self.opened_total)
        broken = (([reason], n) for reason, n in self._broken.items())
        yield labelled_counter("penstock_connections_broken", "Connections closed by us", ["reason"], broken)


class StorageProbe:
    """The log engine at work. Times are wall time of the operation itself, not of the request around it."""

    def __init__(self) -> None:
        self.append = Timings()
        self.read = Timings()
        self.flush = Timings()
        self.roll = Timings()
        self.recovery = Timings()
        self.compaction = Timings()
        self.bytes_appended = self.bytes_read = self.appends = 0
        self.flushed_logs = self.flushed_files = self.flush_failures = 0
        self.recovered_bytes = self.cut_bytes = 0
        self.corrupt_batches = 0
        self.segments_removed = 0

    def families(self) -> Iterator[Metric]:
        yield histogram("penstock_log_append_seconds", "Time of an append, without its flush", self.append)
        yield histogram("penstock_log_read_seconds", "Time of a read from a segment", self.read)
        yield histogram("penstock_flush_seconds", "Time of a flush round", self.flush)
        yield histogram("penstock_log_roll_seconds", "Time to start a new segment", self.roll)
        yield histogram("penstock_log_recovery_seconds", "Time to open and recover a log", self.recovery)
        yield histogram("penstock_compaction_seconds", "Time to compact a log", self.compaction)
        yield counter("penstock_log_appended_bytes", "Bytes appended to logs", self.bytes_appended)
        yield counter("penstock_log_read_bytes", "Bytes read from logs", self.bytes_read)
        yield counter("penstock_flush_logs", "Logs that flush rounds covered", self.flushed_logs)
        yield counter("penstock_flush_files", "Files that flush rounds covered", self.flushed_files)
        yield counter("penstock_flush_failures", "Flush rounds in which a sync failed", self.flush_failures)
        yield counter("penstock_log_recovered_bytes", "Bytes checked by recovery", self.recovered_bytes)
        yield counter("penstock_log_cut_bytes", "Bytes of torn tails that recovery cut off", self.cut_bytes)
        yield counter("penstock_corrupt_batches", "Stored batches whose CRC did not match", self.corrupt_batches)
        yield counter("penstock_log_segments_removed", "Segments deleted by retention", self.segments_removed)
