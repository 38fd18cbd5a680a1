"""The names of a cluster whose coordinator starts brokers and services: its config.yaml.

A node is the first broker of such a cluster. Settings of the coordinator and of the services have no effect yet.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.config.references.entry import ADDRESS, COUNT, PORT, TEXT, Becomes, Entry, NoEffect

_NO_WRITER = "there is no writer service yet; POST /api/v1/topics/NAME/messages of http.port takes messages"
_NO_READER = "there is no reader service yet; GET /api/v1/topics/NAME/partitions/N/messages of http.port reads messages"

KEYS: Mapping[str, Entry] = {
    "coordinator.port": NoEffect(
        PORT, "there is no coordinator yet; clients ask this node itself, at kafka.port and http.port"
    ),
    "coordinator.console_port": NoEffect(
        PORT, "there is no coordinator yet and so no console; `penstock topic`, `group` and `config` manage this node"
    ),
    "coordinator.broker_count": NoEffect(COUNT, "there is no coordinator yet; this node is the only broker", usual=1),
    "coordinator.broker_executable": NoEffect(
        TEXT, "there is no coordinator yet; `penstock serve` is a broker and starts no others"
    ),
    "broker.base_port": Becomes(("kafka.port",), note="this node is the first broker"),
    "broker.data_dir": Becomes(("node.data_dir",)),
    "broker.storage": Becomes(("storage.engine",), note="`memory` or `disk`"),
    "topics.default_partitions": Becomes(("topics.default_partitions",)),
    "topics.replication_factor": NoEffect(
        COUNT, "there is no replication yet; every partition has one replica", usual=1
    ),
    "consumer.session_timeout_ms": Becomes(("consumer.session_timeout_ms",)),
    "consumer.heartbeat_interval_ms": Becomes(("consumer.heartbeat_interval_ms",)),
    "producer.batch_size": Becomes(("producer.batch_size",)),
    "producer.linger_ms": Becomes(("producer.linger_ms",)),
    "nodejs_writer.port": NoEffect(PORT, _NO_WRITER),
    "nodejs_writer.producer_url": NoEffect(ADDRESS, _NO_WRITER),
    "nodejs_reader.port": NoEffect(PORT, _NO_READER),
    "nodejs_reader.consumer_url": NoEffect(ADDRESS, _NO_READER),
}
