"""Counters of throttling: how often and for how long quotas held clients back.

Clients choose their ids: only the first that were held back are shown by name, and the rest is added up, so that the
page stays small whatever the ids are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, Metric

from penstock.model.limits import THROTTLED_CLIENTS_SHOWN

OTHERS = "(others)"
UNNAMED = "(none)"


class QuotaProbe:
    """Counters of throttling, by quota and by client."""

    def __init__(self) -> None:
        self._times: Counter[str] = Counter()
        self._seconds: dict[str, float] = {}
        self._clients: dict[str, float] = {}

    def throttled(self, quota: str, client_id: str | None, seconds: float) -> None:
        """Count a connection that is not read for this many seconds."""
        self._times[quota] += 1
        self._seconds[quota] = self._seconds.get(quota, 0.0) + seconds
        if quota == "connection":
            return  # before a client can say who it is
        name = client_id or UNNAMED
        if name not in self._clients and len(self._clients) >= THROTTLED_CLIENTS_SHOWN:
            name = OTHERS
        self._clients[name] = self._clients.get(name, 0.0) + seconds

    def families(self) -> Iterator[Metric]:
        times = CounterMetricFamily("penstock_throttles", "Times a client was over a quota", labels=["quota"])
        seconds = CounterMetricFamily(
            "penstock_throttle_seconds", "Time for which connections were not read because of quotas", labels=["quota"]
        )
        for quota, count in self._times.items():
            times.add_metric([quota], count)
            seconds.add_metric([quota], self._seconds[quota])
        clients = CounterMetricFamily(
            "penstock_client_throttle_seconds", "The same by client id, of the first hundred", labels=["client"]
        )
        for name, spent in self._clients.items():
            clients.add_metric([name], spent)
        yield times
        yield seconds
        yield clients
