"""Output that waits in the staging topic comes back as it was put there, in its order, among that of others."""

from __future__ import annotations

import pytest

from penstock.client.cluster import Cluster
from penstock.model.topic_partition import TopicPartition
from penstock_spark.errors import DataLost
from penstock_spark.writing.staging import Stage, staged


def test_what_is_staged_comes_back_in_order(cluster: Cluster) -> None:
    one, other = Stage(cluster, 0), Stage(cluster, 4)  # the same partition
    expected = []
    for number in range(30):
        batch = bytearray(b"%d" % number * 50_000)
        expected.append((TopicPartition(f"topic-{number % 3}", number), bytes(batch)))
        one.put(expected[-1][0], batch)
        other.put(TopicPartition("other", 0), bytearray(b"x"))
    one.flush()
    other.flush()
    assert one.place == other.place
    assert [(place, bytes(batch)) for place, batch in staged(cluster, one.place, one.offsets)] == expected


def test_what_is_gone_is_told(cluster: Cluster) -> None:
    stage = Stage(cluster, 1)
    stage.put(TopicPartition("t", 0), bytearray(b"x"))
    stage.flush()
    with pytest.raises(DataLost, match="is gone"):
        list(staged(cluster, stage.place, [stage.offsets[0] + 100]))
