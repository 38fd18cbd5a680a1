"""Probes of the broker's parts for the metrics page and the health report."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial
from typing import Protocol

from penstock.broker.fetch.sessions import FetchSessions
from penstock.broker.groups.memory import GroupMemory
from penstock.broker.quotas.quotas import Quotas
from penstock.broker.telemetry.telemetry import ClientTelemetry
from penstock.broker.transactions.coordinator import TransactionCoordinator
from penstock.cluster.partitions import PartitionTable
from penstock.cluster.topics import TopicTable
from penstock.net.flow_control import FlowControl
from penstock.observability.exposition import LogSample
from penstock.observability.health import Health
from penstock.observability.metrics import BrokerMetrics
from penstock.storage.interface import LogEngine

STORAGE_PROBLEMS_SHOWN = 10


class Muting(Protocol):
    @property
    def muted_count(self) -> int: ...


def log_samples(partitions: PartitionTable) -> Iterator[LogSample]:
    """One entry per open log."""
    return (LogSample(*summary) for summary in partitions.summaries())


def connect_listener_probe(door: Muting, metrics: BrokerMetrics) -> None:
    metrics.add_gauge(
        "penstock_muted_connections",
        "Connections that are not read because of quotas",
        lambda: door.muted_count,
    )


def connect_transaction_probes(transactions: TransactionCoordinator, metrics: BrokerMetrics) -> None:
    metrics.add_gauge("penstock_transactional_ids", "Transactional ids", lambda: transactions.id_count)
    metrics.add_gauge("penstock_open_transactions", "Transactions that are open", lambda: len(transactions.open()))
    metrics.add_gauge(
        "penstock_oldest_transaction_seconds",
        "Age of the oldest open transaction",
        lambda: transactions.oldest_seconds,
    )
    metrics.add_gauge(
        "penstock_uncoordinated_transactions",
        "Open transactions in partitions that no coordinator knows",
        lambda: transactions.hanging.count,
    )
    ends = transactions.completions.ends
    metrics.add_counter(
        "penstock_transactions_committed_total", "Transactions that were committed", lambda: ends.committed
    )
    metrics.add_counter("penstock_transactions_aborted_total", "Transactions that were aborted", lambda: ends.aborted)
    metrics.add_counter(
        "penstock_transactions_timed_out_total",
        "Transactions that were aborted because they were open for too long",
        lambda: ends.timed_out,
    )


def connect_topic_probes(topics: TopicTable, partitions: PartitionTable, metrics: BrokerMetrics) -> None:
    metrics.add_gauge("penstock_topics", "Topics", lambda: len(topics))
    metrics.add_gauge("penstock_partitions", "Partitions", lambda: topics.partition_count)
    metrics.add_gauge(
        "penstock_offline_partitions", "Partitions whose log has failed", lambda: partitions.offline_count
    )
    metrics.add_gauge(
        "penstock_damaged_partitions", "Partitions with damaged bytes on disk", lambda: partitions.damaged_count
    )


def connect_request_probes(
    sessions: FetchSessions, parked: Collection[object], quotas: Quotas, metrics: BrokerMetrics
) -> None:
    metrics.add_gauge("penstock_fetch_sessions", "Fetch sessions", lambda: len(sessions))
    metrics.add_gauge("penstock_waiting_fetches", "Fetches that wait for data", lambda: len(parked))
    metrics.add_gauge("penstock_quota_entities", "Users, client ids and addresses with quotas", lambda: len(quotas))


def connect_memory_probes(flow: FlowControl, groups: GroupMemory, metrics: BrokerMetrics) -> None:
    metrics.add_gauge(
        "penstock_held_bytes",
        "Memory held for clients: requests that arrive or wait, and answers that were not read",
        lambda: flow.held_bytes,
    )
    metrics.add_gauge(
        "penstock_strangers_bytes",
        "Memory held for clients that have not logged in",
        lambda: flow.strangers.held_bytes,
    )
    metrics.add_gauge(
        "penstock_waiting_requests", "Requests under way that wait for memory", lambda: flow.waiting_count
    )
    metrics.add_gauge("penstock_group_bytes", "Memory that groups keep for their members", lambda: groups.held_bytes)


def connect_telemetry_probes(telemetry: ClientTelemetry, metrics: BrokerMetrics) -> None:
    metrics.add_gauge(
        "penstock_telemetry_clients",
        "Clients that have requested a telemetry subscription",
        lambda: telemetry.client_count,
    )
    metrics.add_gauge("penstock_telemetry_series", "Series that clients have pushed", lambda: telemetry.series.count)
    metrics.add_counter(
        "penstock_telemetry_left_out_total",
        "Points and metrics of pushes that are not shown: too many, or of an unsupported kind",
        lambda: telemetry.series.left_out_total,
    )


def connect_storage_probes(
    engine: LogEngine, partitions: PartitionTable, metrics: BrokerMetrics, health: Health, *, in_memory: bool
) -> None:
    """A gauge, and the checks behind /health/ready that are about logs."""
    metrics.add_gauge("penstock_writes_accepted", "1, or 0 while storage is too full", engine.accepts_writes)
    full = "storage.memory_bytes_max is reached" if in_memory else "too little free disk"

    def offline() -> str | None:
        count = partitions.offline_count
        return f"partitions offline after a failed write: {count}; restart to recover them" if count else None

    def storage_full() -> str | None:
        return None if engine.accepts_writes() else f"{full}: produce is refused"

    def damaged() -> str | None:
        count = partitions.damaged_count
        return f"damaged partitions: {count}; see penstock log verify" if count else None

    def storage_problems(kind: str) -> str | None:
        return "; ".join(engine.problems().get(kind, ())[:STORAGE_PROBLEMS_SHOWN]) or None

    health.add_check("partitions", offline)
    health.add_check("memory" if in_memory else "disk", storage_full)
    health.add_warning("damage", damaged)
    for kind in ("orphans", "compaction"):
        health.add_warning(kind, partial(storage_problems, kind))
