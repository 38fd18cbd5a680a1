"""Penstock: a Kafka-compatible streaming system.

What programs import from here: the SDK (`Producer`, `Consumer`, `Admin` and their twins for asyncio; docs/sdk.md), the
push clients (`BrokerClient`) and the consumer framework (`@consumer`; docs/push-clients.md). It is loaded when it is
first asked for, so that `import penstock` costs nothing; `__init__.pyi` tells its types. Formats, errors and values of
the SDK are in `penstock.sdk`.

One log engine holds Kafka record batches byte for byte as they travel on the wire, and every door of the broker reads
and writes the same partitions. The packages are layers, and imports only point down (docs/architecture.md);
`lint-imports` checks it.
"""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"

_LOADED_LATER = {
    "Admin": "penstock.sdk.admin.client",
    "AsyncAdmin": "penstock.sdk.admin.async_client",
    "AsyncBrokerClient": "penstock.client.push.async_client",
    "AsyncConsumer": "penstock.sdk.async_consumer",
    "AsyncProducer": "penstock.sdk.async_producer",
    "BrokerClient": "penstock.client.push.client",
    "Consumer": "penstock.sdk.consumer",
    "ErrorAction": "penstock.consumers.policy",
    "Message": "penstock.client.push.message",
    "Producer": "penstock.sdk.producer",
    "consumer": "penstock.consumers.decorators",
    "error_handler": "penstock.consumers.decorators",
    "message_handler": "penstock.consumers.decorators",
    "retry_policy": "penstock.consumers.decorators",
}

__all__ = sorted(_LOADED_LATER)


def __getattr__(name: str) -> Any:
    module = _LOADED_LATER.get(name)
    if module is None:
        raise AttributeError(f"module 'penstock' has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(module), name)
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_LOADED_LATER])
