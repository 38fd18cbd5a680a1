"""Metrics of the application; every one carries its consumer type."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from penstock.consumers.metrics import ConsumerMetrics
from penstock.edge.feed import Feed
from penstock.edge.store import Store
from penstock.observability.metrics import BrokerMetrics, Probe


class EdgeMetrics(Collector):
    def __init__(
        self,
        consumer_type: str,
        store: Store,
        feed: Feed,
        shared: BrokerMetrics,
        handlers: ConsumerMetrics,
        port: Probe,
    ) -> None:
        self._type = consumer_type
        self._store = store
        self._feed = feed
        self._shared = shared
        self._handlers = handlers
        self._port = port
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)

    def page(self) -> bytes:
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        yield from self._counters()
        yield from self._gauges()
        yield from self._handlers.families()
        for probe in (self._shared.storage, self._shared.loop_lag, self._shared.process, self._port):
            yield from probe.families()

    def _counters(self) -> Iterator[Metric]:
        counts = self._feed.counts
        for name, help_text, value in (
            ("received", "Messages that the broker has sent, each time", counts.received),
            ("stored", "Messages that were new and are on disk", counts.stored),
            ("duplicates", "Messages that came again and were stored already", counts.duplicates),
            ("stored_bytes", "Bytes of the bodies of stored messages", counts.stored_bytes),
            ("sessions", "Times that the subscription was joined again", counts.sessions),
            ("refreshes", "Refreshes that were completed", counts.refreshes),
        ):
            yield self._labelled(CounterMetricFamily(f"penstock_edge_{name}", help_text, labels=("type",)), value)

    def _gauges(self) -> Iterator[Metric]:
        active = self._store.active
        last = self._feed.counts.last_message_ms
        for name, help_text, value in (
            ("connected", "1 while there is a connection to the broker", self._feed.is_connected),
            ("refreshing", "1 while a refresh is under way", self._store.state.refresh is not None),
            ("messages", "Messages that can be read", active.end - active.data.log_start),
            ("log_bytes", "Bytes of the log", active.data.size_bytes),
            ("log_segments", "Segments of the log", active.data.segment_count),
            ("unindexed_messages", "Messages that the index lacks", active.end - active.covered),
            ("last_message_seconds", "When the last message came, since 1970", (last or 0) / 1000),
        ):
            yield self._labelled(GaugeMetricFamily(f"penstock_edge_{name}", help_text, labels=("type",)), value)

    def _labelled(self, family: CounterMetricFamily | GaugeMetricFamily, value: float) -> Metric:
        family.add_metric((self._type,), float(value))
        return family
