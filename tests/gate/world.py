"""A node with a recording gate, in the event loop of the test: a topic, a push subscription, a transactional id."""

from __future__ import annotations

import asyncio
import contextlib
import struct
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from penstock.broker.broker import Broker
from penstock.config.settings import Settings
from penstock.node.node import Node
from penstock.node.storage import Storage
from penstock.protocol.kafka.apis import APIS
from tests.fuzz.samples import API_NAMES, request
from tests.gate.recorder import Recorder

TOPIC, SUBSCRIPTION, TRANSACTIONAL_ID = "t", "s", "x"
BY_NAME = {"produce": 12, "fetch": 12, "offset_commit": 9, "offset_fetch": 9, "delete_topics": 6}
"""Versions that name topics, where the newest one has their ids."""


def versions() -> dict[str, int]:
    """One version of each API."""
    return {API_NAMES[api.key]: BY_NAME.get(API_NAMES[api.key], api.newest) for api in APIS.values()}


class GateNode(Node):
    """A node whose broker the tests can look into."""

    broker: Broker
    storage: Storage

    def _broker(self, storage: Storage) -> Broker:
        self.storage = storage
        self.broker = super()._broker(storage)
        return self.broker

    def snapshot(self) -> tuple[object, ...]:
        """Everything that a request can change for good, and the groups in memory.

        The tables of meta.db have topics, configs, quotas and subscriptions. Committed offsets, groups and transactions
        are records of internal topics, so that the ends of the logs tell about them.
        """
        groups = {group.group_id: (group.state, group.describe()) for group in self.broker.groups.all_groups()}
        return tuple(self.storage.metadata.database.connection.iterdump()), self.logs(), groups

    def logs(self) -> set[tuple[str, int, int, int]]:
        """Start and end of every partition's log."""
        return {(each.topic, each.index, each.log_start, each.log_end) for each in self.broker.partitions.opened()}


@contextlib.asynccontextmanager
async def running_node(data_dir: Path, recorder: Recorder) -> AsyncIterator[GateNode]:
    node = GateNode(
        Settings.model_validate(
            {
                "node": {"data_dir": data_dir},
                "kafka": {"host": "127.0.0.1", "port": 0},
                "push": {"port": 0},
                "http": {"host": "127.0.0.1", "port": 0, "test_endpoints": True, "test_data_dir": data_dir.parent},
                "storage": {"engine": "memory"},
            }
        ),
        build_access=lambda _: recorder.access,
    )
    await node.start()
    try:
        yield node
    finally:
        await node.stop()


class KafkaClient:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def connect(cls, port: int) -> KafkaClient:
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    def send(self, api: str, version: int, **changes: Any) -> None:
        frame = request(api, version, **changes)
        self._writer.write(struct.pack(">i", len(frame)) + frame)

    async def ask(self, api: str, version: int, **changes: Any) -> bytes:
        """The answer, undecoded."""
        self.send(api, version, **changes)
        (size,) = struct.unpack(">i", await self._reader.readexactly(4))
        return await self._reader.readexactly(size)

    def close(self) -> None:
        self._writer.close()
