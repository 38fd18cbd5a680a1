"""The metrics that a client has to push: all subscriptions that match it, taken together.

A subscription is a client-metrics resource with configs (`config.client_metrics_configs`). The ids and the order of
names are those that Kafka computes, so that a client which moves between brokers keeps its subscription id. The order
is that of Java's HashSet, since that is what the checksum in the id is taken over.
"""

from __future__ import annotations

import base64
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import crc32c

from penstock.config.client_metrics_configs import (
    ALL_METRICS,
    CLIENT_METRICS_CONFIGS,
    INTERVAL_MS_DEFAULT,
    Pattern,
    parse_patterns,
)
from penstock.config.config_key import to_list

_INT32 = 1 << 32


class Client(NamedTuple):
    """The attributes of a client that are known before it pushes; their names are the selectors of `match`."""

    client_instance_id: str
    client_id: str | None
    client_software_name: str
    client_software_version: str
    client_source_address: str
    client_source_port: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsSubscription:
    """One client-metrics resource."""

    metrics: tuple[str, ...]
    interval_ms: int
    patterns: Mapping[str, Pattern]

    def matches(self, client: Client) -> bool:
        for selector, pattern in self.patterns.items():
            value = getattr(client, selector)
            if value is None or pattern.fullmatch(value) is None:
                return False
        return True


class Assignment(NamedTuple):
    """The assignment of one client."""

    subscription_id: int
    interval_ms: int
    metrics: tuple[str, ...]


def to_subscription(configs: Mapping[str, str]) -> MetricsSubscription:
    """A subscription from its configs, which were checked when they were set."""
    values = {name: configs.get(name, key.default or "") for name, key in CLIENT_METRICS_CONFIGS.items()}
    return MetricsSubscription(
        metrics=tuple(to_list(values["metrics"])),
        interval_ms=int(values["interval.ms"]),
        patterns=parse_patterns(to_list(values["match"])),
    )


def assign(subscriptions: Iterable[MetricsSubscription], client: Client, instance_id: uuid.UUID) -> Assignment:
    """The union of names and the shortest interval of those that match."""
    interval_ms = INTERVAL_MS_DEFAULT
    metrics: dict[str, None] = {}
    for subscription in subscriptions:
        if subscription.matches(client):
            metrics.update(dict.fromkeys(subscription.metrics))
            interval_ms = min(interval_ms, subscription.interval_ms)
    names = [ALL_METRICS] if ALL_METRICS in metrics else hash_set_order(metrics)
    return Assignment(_subscription_id(names, interval_ms, instance_id), interval_ms, tuple(names))


def instance_text(instance_id: uuid.UUID) -> str:
    """A client instance id as Kafka writes it."""
    return base64.urlsafe_b64encode(instance_id.bytes).rstrip(b"=").decode()


def _subscription_id(names: list[str], interval_ms: int, instance_id: uuid.UUID) -> int:
    checksum = crc32c.crc32c(f"[{', '.join(names)}]{interval_ms}".encode())
    high, low = divmod(instance_id.int, 1 << 64)
    folded = high ^ low
    value = checksum ^ (folded >> 32) ^ (folded & (_INT32 - 1))
    return value - _INT32 if value >= _INT32 >> 1 else value


def hash_set_order(names: Iterable[str]) -> list[str]:
    """The order in which Java's HashSet of these strings is walked: by bucket, and as inserted within one."""
    listed = list(names)
    buckets = 16
    while len(listed) > buckets * 3 // 4:
        buckets *= 2
    return sorted(listed, key=lambda name: _spread_hash(name) & (buckets - 1))


def _spread_hash(text: str) -> int:
    encoded = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for high, low in zip(encoded[::2], encoded[1::2], strict=True):
        value = (value * 31 + (high << 8 | low)) % _INT32
    return value ^ value >> 16
