"""A child that was away for long: how fast the pipe brings it what it has missed, on disk."""

from __future__ import annotations

import time
from pathlib import Path

from bench.push.delivery import fill
from bench.rivals import Penstock
from bench.spread import Figures
from penstock.client.address import Address
from penstock.client.cluster import Cluster
from penstock.client.offsets import LATEST, list_offsets
from penstock.model.errors import KafkaError
from penstock.model.topic_partition import TopicPartition

PLACE = TopicPartition("history", 0)
DEADLINE_S = 300.0


def catch_up(directory: Path, messages: int) -> Figures:
    parent = Penstock(directory / "parent")
    child = Penstock(directory / "child", **{"pipe.parent_url": parent.http_url})
    try:
        parent.start()
        fill(parent.address, PLACE.topic, messages)
        child.start()
        started = time.perf_counter()
        with Cluster([Address(*child.address)]) as cluster:
            while _end(cluster) < messages:
                if time.perf_counter() - started > DEADLINE_S:
                    raise RuntimeError(f"the child has {_end(cluster):,} of {messages:,} messages")
                time.sleep(0.01)
        return {"messages_per_s": messages / (time.perf_counter() - started)}
    finally:
        child.stop()
        parent.stop()


def _end(cluster: Cluster) -> int:
    try:
        return list_offsets(cluster, {PLACE: LATEST}, committed=False)[PLACE]
    except KafkaError:
        return 0  # the mirror is not there yet
