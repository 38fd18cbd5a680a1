"""The series that clients have pushed, as they stand on the metrics page. Bounded for each client and in all.

Deltas are added up from the first push on. Other values are those of the latest push: a gauge that is not in it
any more is gone. A client's series outlive it by a little while, so that the values of its last push, which for a
short-lived client is the only one, are scraped.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from penstock.broker.telemetry.otlp import LABEL_VALUE_LENGTH_MAX, RESERVED_LABELS, Push, label_text
from penstock.broker.telemetry.subscriptions import Client
from penstock.observability.exposition import ClientSample
from penstock.observability.labels import quoted

INFO = "penstock_telemetry_client_info"

Key = tuple[str, str]
"""Family and labels: unique on a metrics page."""


class _Value(NamedTuple):
    value: int | float
    is_counter: bool
    is_sum: bool  # of deltas


class _ClientSeries:
    __slots__ = ("gone_ms", "info", "labels", "values")

    def __init__(self, client: Client) -> None:
        self.labels = f'client_instance_id="{client.client_instance_id}",client_id="{_shown(client.client_id)}"'
        self.info = ""
        self.values: dict[Key, _Value] = {}
        self.gone_ms: int | None = None


class SeriesStore:
    """All series. Called on the event loop."""

    def __init__(self, *, count_max: int, per_client_max: int, linger_ms: int) -> None:
        self._count_max = count_max
        self._per_client_max = per_client_max
        self._linger_ms = linger_ms
        self._clients: dict[uuid.UUID, _ClientSeries] = {}
        self.count = 0
        self.left_out_total = 0
        """Points of pushes that there was no room for, and metrics that are neither gauge nor sum."""

    def add(self, instance_id: uuid.UUID, client: Client, push: Push) -> None:
        series = self._clients.get(instance_id)
        if series is None:
            if not self._has_room():
                self.left_out_total += len(push.points) + push.unusable
                return
            series = self._clients[instance_id] = _ClientSeries(client)
            self.count += 1  # its info
        series.gone_ms = None
        series.info = _info(client, push.resource)
        self.count -= len(series.values)
        values = series.values = {key: known for key, known in series.values.items() if known.is_sum}
        room = min(self._per_client_max, self._count_max - self.count)
        self.left_out_total += push.unusable
        for family, labels, is_counter, is_delta, value in push.points:
            key = (family, labels)
            known = values.get(key)
            if known is None and len(values) >= room:
                self.left_out_total += 1
                continue
            if is_delta and known is not None and known.is_sum:
                value += known.value
            values[key] = _Value(value, is_counter, is_delta)
        self.count += len(values)

    def _has_room(self) -> bool:
        """Whether there is room for another client; those that left are dropped for it, the first one first."""
        while self.count >= self._count_max:
            gone = [(series.gone_ms, key) for key, series in self._clients.items() if series.gone_ms is not None]
            if not gone:
                return False
            self.drop(min(gone, key=lambda item: item[0])[1])
        return True

    def drop(self, instance_id: uuid.UUID) -> None:
        """Drop the series of a client that pushes other metrics from now on, or none."""
        series = self._clients.pop(instance_id, None)
        if series is not None:
            self.count -= len(series.values) + 1

    def gone(self, instance_id: uuid.UUID, now_ms: int) -> None:
        """Note that a client has left: its series go later, unless it comes back meanwhile."""
        series = self._clients.get(instance_id)
        if series is not None and series.gone_ms is None:
            series.gone_ms = now_ms

    def expire(self, now_ms: int) -> None:
        for instance_id, series in tuple(self._clients.items()):
            if series.gone_ms is not None and now_ms - series.gone_ms >= self._linger_ms:
                self.drop(instance_id)

    def samples(self) -> Iterator[ClientSample]:
        for series in tuple(self._clients.values()):
            yield ClientSample(INFO, f"{series.labels},{series.info}", False, 1)
            for (family, labels), known in tuple(series.values.items()):
                text = f"{series.labels},{labels}" if labels else series.labels
                yield ClientSample(family, text, known.is_counter, known.value)


def _info(client: Client, resource: Mapping[str, str]) -> str:
    """Line with the labels that all series of a client have in common, to be joined where needed."""
    own = {name: _shown(value) for name, value in client._asdict().items() if name not in RESERVED_LABELS}
    return label_text({**resource, **own})


def _shown(text: str | None) -> str:
    return quoted((text or "")[:LABEL_VALUE_LENGTH_MAX])
