"""A node with a recording gate, in the event loop of the test: a topic, a push subscription, a transactional id."""

from __future__ import annotations

import asyncio
import contextlib
import struct
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from penstock.config.settings import Settings
from penstock.node.node import Node
from penstock.protocol.kafka.apis import APIS
from tests.fuzz.samples import API_NAMES, request
from tests.gate.recorder import Recorder

TOPIC, SUBSCRIPTION, TRANSACTIONAL_ID = "t", "s", "x"
BY_NAME = {"produce": 12, "fetch": 12, "offset_commit": 9, "offset_fetch": 9, "delete_topics": 6}
"""Versions that name topics, where the newest one has their ids."""


def versions() -> dict[str, int]:
    """One version of each API."""
    return {API_NAMES[api.key]: BY_NAME.get(API_NAMES[api.key], api.newest) for api in APIS.values()}


@contextlib.asynccontextmanager
async def running_node(data_dir: Path, recorder: Recorder) -> AsyncIterator[Node]:
    node = Node(
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

    async def ask(self, api: str, version: int, **changes: Any) -> bytes:
        """The answer, undecoded."""
        frame = request(api, version, **changes)
        self._writer.write(struct.pack(">i", len(frame)) + frame)
        (size,) = struct.unpack(">i", await self._reader.readexactly(4))
        return await self._reader.readexactly(size)

    def close(self) -> None:
        self._writer.close()
