"""A range of a partition, read from a real broker as tasks do, without Spark around it."""

from __future__ import annotations

import logging

import pytest

from penstock.client.address import Address
from penstock.client.cluster import Cluster
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.topic_partition import TopicPartition
from penstock_spark.reading.records.range_reader import RangeReader
from tests.support.batches import now_ms
from tests.support.broker_process import BrokerProcess
from tests.support.quota_client import FETCH, quotas_set
from tests.support.raw_client import RawClient, unique_name

BATCHES, BATCH_BYTES = 5, 500_000
BYTES_PER_S = 200_000  # brokers look at ten seconds: some batches are within that, all are not


@pytest.mark.feature("S-01")
@pytest.mark.timeout(120)
def test_a_quota_that_is_used_up_is_waited_for(
    broker: BrokerProcess, client: RawClient, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    """An answer without anything in it is no end of the partition."""
    for _ in range(BATCHES):
        batch = build_batch([NewRecord(None, bytes(BATCH_BYTES))], timestamp=now_ms())
        assert client.produce(topic, bytes(batch)).error_code == 0
    name = unique_name("reader")
    caplog.set_level(logging.INFO)
    with (
        quotas_set(client, (("client-id", name),), **{FETCH: BYTES_PER_S}),
        Cluster([Address(broker.host, broker.port)], client_id=name) as cluster,
    ):
        found = [rows.num_rows for rows in RangeReader(cluster, TopicPartition(topic, 0), 0, BATCHES, ["value"])]
    assert sum(found) == BATCHES
    assert "the quota of this client is used up" in caplog.text
