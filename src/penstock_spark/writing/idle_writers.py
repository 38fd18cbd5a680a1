"""Idle writers, kept for the next batch of their query, and producers, for the next write over their connections.

As a rule Spark gives the batches of a query to the same process, one after the other. A writer that has committed one
is ready for the next: connected, and known to the broker. One that failed is never kept, and the death of a process
costs only time: the next one begins from the start.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakKeyDictionary

from penstock.client.cluster import Cluster
from penstock.client.idempotent import IdempotentProducer
from penstock_spark.user_options import Broker
from penstock_spark.writing.exactly_once import ExactlyOnce

MOST = 8

_producers: WeakKeyDictionary[Cluster, IdempotentProducer] = WeakKeyDictionary()
_waiting: OrderedDict[tuple[Broker, str, int], ExactlyOnce] = OrderedDict()


@contextmanager
def writer(broker: Broker, name: str, timeout_ms: int) -> Iterator[ExactlyOnce]:
    """The idle writer of this name, or a new one; it has one user at a time."""
    key = (broker, name, timeout_ms)
    once = _waiting.pop(key, None) or ExactlyOnce(broker.connect(), name, timeout_ms)
    try:
        yield once
    except BaseException:
        once.close()
        raise
    _waiting[key] = once
    while len(_waiting) > MOST:
        _waiting.popitem(last=False)[1].close()


@contextmanager
def producer(cluster: Cluster) -> Iterator[IdempotentProducer]:
    """The producer over some connections, which has its id as long as they last; it has one user at a time."""
    found = _producers.pop(cluster, None) or IdempotentProducer(cluster)
    yield found
    found.flush()
    _producers[cluster] = found
