"""Figures of each handler. Written on the runner's thread, read at a scrape: plain additions, no locks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from penstock.observability.timings import Timings

LABELS = ("handler", "topic", "group")


class HandlerProbe:
    """One handler's figures."""

    def __init__(self, handler: str, topic: str, group: str) -> None:
        self.labels = (handler, topic, group)
        self.calls = self.messages = self.failures = self.retries = self.dead_letters = self.skipped = 0
        self.duration = Timings()


class ConsumerMetrics(Collector):
    """All handlers of a process, as Prometheus families."""

    def __init__(self) -> None:
        self._probes: dict[tuple[str, str, str], HandlerProbe] = {}

    def probe(self, handler: str, topic: str, group: str) -> HandlerProbe:
        """The figures of this handler; those of a consumer that is started again continue."""
        return self._probes.setdefault((handler, topic, group), HandlerProbe(handler, topic, group))

    def families(self) -> Iterator[Metric]:
        for name, help_text, read in (
            ("calls", "Calls of a handler", lambda probe: probe.calls),
            ("messages", "Messages that a handler has done", lambda probe: probe.messages),
            ("failures", "Calls of a handler that raised, and messages it could not be called with", _failures),
            ("retries", "Further attempts for a failed message or batch", lambda probe: probe.retries),
            ("dead_letters", "Messages written to a dead-letter topic", lambda probe: probe.dead_letters),
            ("skipped", "Messages that an error handler has dealt with", lambda probe: probe.skipped),
        ):
            family = CounterMetricFamily(f"penstock_handler_{name}", help_text, labels=LABELS)
            for probe in self._probes.values():
                family.add_metric(probe.labels, read(probe))
            yield family
        durations = HistogramMetricFamily("penstock_handler_seconds", "Time of a handler's call", labels=LABELS)
        for probe in self._probes.values():
            durations.add_metric(probe.labels, buckets=probe.duration.buckets(), sum_value=probe.duration.sum)
        yield durations

    def collect(self) -> Iterable[Metric]:
        return self.families()


def _failures(probe: HandlerProbe) -> int:
    return probe.failures
