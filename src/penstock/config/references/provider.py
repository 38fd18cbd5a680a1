"""The names of a provider of messages in a hierarchy of brokers: its application.yml and its variables."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.config.references.entry import COUNT, Becomes, Entry, NoEffect

_NO_THREADS = "one loop serves all connections, without threads"

KEYS: Mapping[str, Entry] = {
    "broker.node.id": Becomes(("node.id",)),
    "broker.storage.type": Becomes(("storage.engine",), note="`mmap` is `disk`"),
    "broker.storage.data-dir": Becomes(("node.data_dir",)),
    "broker.storage.segment-size": Becomes(("topics.defaults.segment.bytes",)),
    "broker.network.type": Becomes(("network.type",)),
    "broker.network.port": Becomes(("kafka.port",)),
    "broker.network.threads.boss": NoEffect(COUNT, _NO_THREADS),
    "broker.network.threads.worker": NoEffect(COUNT, _NO_THREADS),
    "broker.registry.url": Becomes(("registry.url",)),
    "broker.registry.poll-interval": Becomes(("registry.poll_interval_ms",)),
    "broker.pipe.poll-interval": Becomes(("pipe.poll_interval_ms",)),
    "broker.pipe.batch-size": Becomes(("pipe.batch_size",)),
    "test_endpoints": Becomes(("http.test_endpoints",)),
    "test_data_dir": Becomes(("http.test_data_dir",)),
}
VARIABLES: Mapping[str, str] = {
    "NODE_ID": "node.id",
    "DATA_DIR": "node.data_dir",
    "BROKER_PORT": "kafka.port",
    "HTTP_PORT": "http.port",
    "REGISTRY_URL": "registry.url",
}
