"""The admission of a node's connections: the share of each door, and how it shows in metrics and health."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final, NamedTuple

from prometheus_client.core import Metric

from penstock.config.settings import Settings
from penstock.model.limits import (
    CONNECTIONS_MAX,
    HTTP_CONNECTIONS_RESERVED,
    KAFKA_CONNECTIONS_RESERVED,
)
from penstock.net.admission.admission import Admission, AdmissionLimits
from penstock.net.admission.door import Door
from penstock.net.http.stall_watch import HttpTimes
from penstock.observability.health import Health
from penstock.observability.metrics import BrokerMetrics
from penstock.observability.probes import gauge, labelled_counter, labelled_gauge
from penstock.runtime.descriptors import SPARE, left, share_descriptors
from penstock.runtime.periodic import Periodic

logger = logging.getLogger(__name__)

SILENT_SWEEP_INTERVAL_MS: Final = 250
FULL_SECONDS_SHOWN: Final = 30.0
"""A node that has refused a connection for want of room is not ready for this long: probes come every few seconds."""
HEARTBEAT_MARGIN_S: Final = 10.0
DESCRIPTORS_LEFT_MIN: Final = 20
LONE_DOOR_FILES: Final = 500
"""Files of a registry or an edge application: its databases, and the segments of its log."""


class Doors(NamedTuple):
    """The admission, and its share for each door."""

    admission: Admission
    kafka: Door
    push: Door
    http: Door


def with_descriptors(settings: Settings) -> Settings:
    """The settings, with as many connections and open segments as the system allows files."""
    limits, storage = settings.limits, settings.storage
    shares = share_descriptors(limits.connections_max, storage.open_files_max)
    if (shares.connections, shares.files) == (limits.connections_max, storage.open_files_max):
        return settings
    logger.warning(
        "the system allows %d open files, the limits of this node need %d: there may be %d connections instead of"
        " limits.connections_max, %d, and %d open segments instead of storage.open_files_max, %d; raise `ulimit -Hn`",
        shares.limit,
        limits.connections_max + storage.open_files_max + SPARE,
        shares.connections,
        limits.connections_max,
        shares.files,
        storage.open_files_max,
    )
    return settings.model_copy(
        update={
            "limits": limits.model_copy(update={"connections_max": shares.connections}),
            "storage": storage.model_copy(update={"open_files_max": shares.files}),
        }
    )


def build_doors(settings: Settings) -> Doors:
    limits = settings.limits
    admission = Admission(
        AdmissionLimits(
            connections_max=limits.connections_max,
            per_address_max=limits.connections_per_address_max,
            rate_per_address_max=limits.connection_rate_per_address_max,
        )
    )
    first_request_s = settings.kafka.first_request_timeout_ms / 1000
    heartbeat_s = settings.push.heartbeat_interval_ms / 1000
    first_frame_s = heartbeat_s + min(heartbeat_s, HEARTBEAT_MARGIN_S)  # a client with nothing to say sends a heartbeat
    header_s = settings.http.header_timeout_ms / 1000
    return Doors(
        admission,
        kafka=admission.door("kafka", reserve=KAFKA_CONNECTIONS_RESERVED, silent_seconds_max=first_request_s),
        push=admission.door("push", silent_seconds_max=first_frame_s),
        http=admission.door("http", reserve=HTTP_CONNECTIONS_RESERVED, silent_seconds_max=header_s),
    )


async def lone_http_door(stack: AsyncExitStack, connections_max: int = CONNECTIONS_MAX) -> Door:
    """The admission of a process whose only door is HTTP, until the stack is closed."""
    shares = share_descriptors(connections_max, LONE_DOOR_FILES)
    admission = Admission(AdmissionLimits(connections_max=shares.connections, per_address_max=shares.connections))
    await stack.enter_async_context(watched(admission))
    return admission.door("http", silent_seconds_max=HttpTimes().header_s)


@asynccontextmanager
async def watched(admission: Admission) -> AsyncIterator[None]:
    """Close silent connections when their time is over."""
    sweep = Periodic("silent connections", SILENT_SWEEP_INTERVAL_MS, admission.sweep)
    sweep.start()
    try:
        yield
    finally:
        await sweep.stop()


def connect_admission_probes(admission: Admission, metrics: BrokerMetrics, health: Health) -> None:
    """Add the metrics, and the check that says whether new clients get in."""
    metrics.add_probe(_AdmissionProbe(admission))

    def full() -> str | None:
        since = admission.seconds_since_full()
        if since is None or since > FULL_SECONDS_SHOWN:
            return None
        return f"connections are refused: all {admission.limits.connections_max} are open (limits.connections_max)"

    def scarce() -> str | None:
        descriptors = left()
        if descriptors is None or descriptors >= DESCRIPTORS_LEFT_MIN:
            return None
        return f"only {descriptors} more files can be opened; raise `ulimit -Hn`"

    health.add_check("connections", full)
    health.add_check("descriptors", scarce)


class _AdmissionProbe:
    def __init__(self, admission: Admission) -> None:
        self._admission = admission

    def families(self) -> Iterator[Metric]:
        doors = self._admission.doors
        yield gauge(
            "penstock_connections_max",
            "Connections that may be open, over all doors",
            self._admission.limits.connections_max,
        )
        yield labelled_gauge(
            "penstock_door_connections",
            "Open connections by door",
            ["door"],
            [([door.name], door.open_count) for door in doors],
        )
        yield labelled_gauge(
            "penstock_silent_connections",
            "Of those, without a complete request so far",
            ["door"],
            [([door.name], len(door.silent)) for door in doors],
        )
        yield labelled_counter(
            "penstock_connections_refused",
            "Connections turned away",
            ["door", "reason"],
            (([door.name, reason], count) for door in doors for reason, count in door.refused.items()),
        )
        yield labelled_counter(
            "penstock_connections_dropped",
            "Connections closed because their clients were silent or too slow",
            ["door", "reason"],
            (([door.name, reason], count) for door in doors for reason, count in door.dropped.items()),
        )
