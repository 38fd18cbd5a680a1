"""The two brokers that scripts are run against, with the same settings.

Settings are given in Kafka's names; the table says what Penstock calls them. What follows `penstock.` is for Penstock
only: where its defaults are deliberately more generous, the stricter form is compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.support.broker_process import BrokerProcess
from tests.support.group_client import wait_for_coordinator
from tests.support.kafka_process import KafkaProcess, compiled_sink
from tests.support.penstock_process import PenstockProcess
from tests.support.raw_client import RawClient
from tests.support.waiting import wait_until

PENSTOCK_NAMES: Mapping[str, str] = {
    "auto.create.topics.enable": "topics.auto_create",
    "connections.max.idle.ms": "kafka.idle_timeout_ms",
    "group.initial.rebalance.delay.ms": "groups.initial_rebalance_delay_ms",
    "group.max.session.timeout.ms": "groups.session_timeout_max_ms",
    "group.max.size": "groups.members_max",
    "group.min.session.timeout.ms": "groups.session_timeout_min_ms",
    "log.cleaner.backoff.ms": "storage.compaction_check_interval_ms",
    "log.retention.check.interval.ms": "storage.retention_check_interval_ms",
    "max.incremental.fetch.session.cache.slots": "limits.fetch_sessions_max",
    "num.partitions": "topics.default_partitions",
    "offset.metadata.max.bytes": "groups.offset_metadata_bytes_max",
    "offsets.retention.check.interval.ms": "groups.offsets_retention_check_interval_ms",
    "offsets.retention.minutes": "groups.offsets_retention_minutes",
    "offsets.topic.num.partitions": "groups.offsets_topic_partitions",
    "socket.request.max.bytes": "limits.frame_bytes_max",
    "transaction.state.log.num.partitions": "transactions.topic_partitions",
}
KAFKA_ONLY = frozenset({"log.initial.task.delay.ms", "metric.reporters"})

BASE: Mapping[str, str] = {
    "group.initial.rebalance.delay.ms": "0",
    "log.cleaner.backoff.ms": "500",
    "log.retention.check.interval.ms": "500",
    "metric.reporters": "TelemetrySink",  # without one Kafka has no client telemetry
    "offsets.topic.num.partitions": "5",
    "penstock.telemetry.advertise": "always",  # as Kafka with its reporter
    "penstock.topics.strict_replication_factor": "true",
    "transaction.state.log.num.partitions": "5",
}

Settings = Mapping[str, str]


def kafka_broker(directory: Path, settings: Settings) -> BrokerProcess:
    wanted = {name: value for name, value in {**BASE, **settings}.items() if not name.startswith("penstock.")}
    directory.mkdir(parents=True, exist_ok=True)
    classes = compiled_sink(directory)
    assert classes is not None, "Kafka has client telemetry only with a class of our own, which needs javac"
    return KafkaProcess(directory, wanted, more_classes=classes)


def penstock_broker(directory: Path, settings: Settings) -> BrokerProcess:
    tree: dict[str, dict[str, Any]] = {}
    for name, value in {**BASE, **settings}.items():
        if name in KAFKA_ONLY:
            continue
        path = name.removeprefix("penstock.") if name.startswith("penstock.") else PENSTOCK_NAMES[name]
        section, _, key = path.partition(".")
        tree.setdefault(section, {})[key] = yaml.safe_load(value)
    return PenstockProcess(directory, yaml.safe_dump(tree))


MAKERS: Mapping[str, Callable[[Path, Settings], BrokerProcess]] = {"kafka": kafka_broker, "penstock": penstock_broker}


def started(kind: str, directory: Path, settings: Settings) -> BrokerProcess:
    """A running broker whose coordinators answer and which can give out producer ids.

    Both of the coordinators' topics are there: whether a script finds them must not hang on which ran before it.
    """
    broker = MAKERS[kind](directory, settings)
    broker.prepare()
    broker.start()
    try:
        with RawClient(broker.host, broker.port) as client:
            wait_for_coordinator(client)
            wait_until(lambda: _transactions_ready(client), what="the transaction coordinator answers", within_s=30.0)
            client.new_producer_id()
    except BaseException:
        broker.kill9()
        raise
    return broker


def _transactions_ready(client: RawClient) -> bool:
    return int(client.call("find_coordinator", 2, key="warm-up", key_type=1).error_code) == 0
