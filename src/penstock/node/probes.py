"""Probes of the broker's parts for the metrics page and the health report."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from penstock.broker.broker import Broker
from penstock.broker.transactions.coordinator import TransactionCoordinator
from penstock.config.settings import MEMORY
from penstock.net.listener import Listener
from penstock.observability.exposition import LagSample, LogSample
from penstock.observability.health import Health
from penstock.observability.metrics import BrokerMetrics

STORAGE_PROBLEMS_SHOWN = 10


def log_samples(broker: Broker) -> Iterator[LogSample]:
    """One entry per open log."""
    return (LogSample(*summary) for summary in broker.partitions.summaries())


def lag_samples(broker: Broker) -> Iterator[LagSample]:
    return broker.groups.lags()


def connect_listener_probe(listener: Listener, metrics: BrokerMetrics) -> None:
    metrics.add_gauge(
        "penstock_muted_connections",
        "Connections that are not read because of quotas",
        lambda: listener.muted_count,
    )


def _connect_transactions(transactions: TransactionCoordinator, metrics: BrokerMetrics) -> None:
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
    ends = transactions.endings.ends
    metrics.add_counter(
        "penstock_transactions_committed_total", "Transactions that were committed", lambda: ends.committed
    )
    metrics.add_counter("penstock_transactions_aborted_total", "Transactions that were aborted", lambda: ends.aborted)
    metrics.add_counter(
        "penstock_transactions_timed_out_total",
        "Transactions that were aborted because they were open for too long",
        lambda: ends.timed_out,
    )


def connect_probes(broker: Broker, metrics: BrokerMetrics, health: Health) -> None:
    """Gauges that are read at a scrape, and the checks behind /health/ready."""
    partitions = broker.partitions
    metrics.add_gauge("penstock_topics", "Topics", lambda: len(broker.topics))
    metrics.add_gauge("penstock_partitions", "Partitions", lambda: broker.topics.partition_count)
    metrics.add_gauge(
        "penstock_offline_partitions", "Partitions whose log has failed", lambda: partitions.offline_count
    )
    metrics.add_gauge(
        "penstock_damaged_partitions", "Partitions with damaged bytes on disk", lambda: partitions.damaged_count
    )
    metrics.add_gauge("penstock_fetch_sessions", "Fetch sessions", lambda: len(broker.fetch_sessions))
    metrics.add_gauge("penstock_waiting_fetches", "Fetches that wait for data", lambda: len(broker.parked))
    metrics.add_gauge(
        "penstock_writes_accepted",
        "1, or 0 while storage is too full",
        lambda: broker.engine.accepts_writes(),
    )
    metrics.add_gauge(
        "penstock_quota_entities", "Users, client ids and addresses with quotas", lambda: len(broker.quotas)
    )
    _connect_transactions(broker.transactions, metrics)
    telemetry = broker.telemetry
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

    def offline() -> str | None:
        count = partitions.offline_count
        return f"partitions offline after a failed write: {count}; restart to recover them" if count else None

    in_memory = broker.settings.storage.engine == MEMORY
    full = "storage.memory_bytes_max is reached" if in_memory else "too little free disk"

    def storage_full() -> str | None:
        return None if broker.engine.accepts_writes() else f"{full}: produce is refused"

    def damaged() -> str | None:
        count = partitions.damaged_count
        return f"damaged partitions: {count}; see penstock log verify" if count else None

    def storage_problems(kind: str) -> str | None:
        return "; ".join(broker.engine.problems().get(kind, ())[:STORAGE_PROBLEMS_SHOWN]) or None

    health.add_check("partitions", offline)
    health.add_check("memory" if in_memory else "disk", storage_full)
    health.add_warning("damage", damaged)
    for kind in ("orphans", "compaction"):
        health.add_warning(kind, partial(storage_problems, kind))
