"""Fetches that wait for data, from outside: many of them on one connection hold a bounded amount of memory."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.gate.recorder import Recorder
from tests.gate.world import GateNode, KafkaClient, running_node

PARTITIONS = 8


def fetch(partitions: int) -> dict[str, Any]:
    wanted = [{"partition": index, "fetch_offset": 0, "partition_max_bytes": 1000} for index in range(partitions)]
    return {
        "max_wait": 60_000,
        "min_bytes": 1_000_000,
        "session_id": 0,
        "session_epoch": -1,
        "topics": [{"topic": "wide", "partitions": wanted}],
    }


async def until_waiting(node: GateNode, partitions: int) -> None:
    while node.broker.parking.partition_count != partitions:  # noqa: ASYNC110 - a state, not an event
        await asyncio.sleep(0.005)


@pytest.mark.feature("F-06")
def test_fetches_beyond_the_bound_are_answered_at_once_and_one_of_each_client_may_wait(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_node(tmp_path / "data", Recorder()) as node:
            node.broker.parking.partitions_max = 3 * PARTITIONS
            hostile, honest = [await KafkaClient.connect(node.kafka_port) for _ in range(2)]
            topic = {"name": "wide", "num_partitions": PARTITIONS, "replication_factor": 1}
            await honest.ask("create_topics", 7, topics=[topic])
            for _ in range(10):
                hostile.send("fetch", 12, **fetch(PARTITIONS))
            await until_waiting(node, 3 * PARTITIONS)
            waiting = asyncio.ensure_future(honest.ask("fetch", 12, **fetch(PARTITIONS)))
            await until_waiting(node, 4 * PARTITIONS)
            assert not waiting.done()
            hostile.close()
            await until_waiting(node, PARTITIONS)
            waiting.cancel()
            honest.close()
            await until_waiting(node, 0)

    asyncio.run(asyncio.wait_for(scenario(), 60))
