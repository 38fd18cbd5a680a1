"""The classes of prometheus-client, imported when they are first used.

A node has metrics from its first moment, but they are not read before it serves: without the import it starts
20 ms sooner. `node.preload` does it a moment later, so that the first scrape does not wait for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, generate_latest
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
    from prometheus_client.registry import Collector

__all__ = [
    "Collector",
    "CollectorRegistry",
    "CounterMetricFamily",
    "GaugeMetricFamily",
    "HistogramMetricFamily",
    "Metric",
    "generate_latest",
]


def load() -> None:
    """Import them now."""
    import prometheus_client
    import prometheus_client.core
    import prometheus_client.registry  # noqa: F401


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    import prometheus_client
    import prometheus_client.core
    import prometheus_client.registry

    for module in (prometheus_client, prometheus_client.core, prometheus_client.registry):
        if hasattr(module, name):
            found = globals()[name] = getattr(module, name)  # next time without this function
            return found
    raise AttributeError(name)
