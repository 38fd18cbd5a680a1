"""A pipe connector that needs nothing but the standard library: urllib, in a thread."""

from __future__ import annotations

import asyncio
import json
import urllib.request
import uuid

from penstock.config.settings import PipeSettings
from penstock.topology.pipe.interface import ParentTopic, ParentTopics, ParentUnavailable
from penstock.topology.pipe.wire import PullAnswer, PullRequest, decode_answer, encode_request


class PlainPipeConnector:
    def __init__(self, parent_url: str, settings: PipeSettings) -> None:
        if not parent_url.startswith("http://"):
            raise ValueError(f"{parent_url!r} is no URL that begins with http://")
        self._url = parent_url
        self._timeout_s = settings.timeout_ms / 1000

    async def topics(self) -> ParentTopics:
        told = json.loads(await self._ask("/pipe/topics", None, self._timeout_s))
        topics = [
            ParentTopic(
                name=each["name"],
                topic_id=uuid.UUID(each["id"]),
                partition_count=len(each["partitions"]),
                configs=each["configs"],
            )
            for each in told["topics"]
        ]
        return ParentTopics(version=told["version"], topics=topics)

    async def pull(self, request: PullRequest) -> PullAnswer:
        body = encode_request(request)
        return decode_answer(await self._ask("/pipe/records", body, self._timeout_s + request.wait_ms / 1000))

    async def close(self) -> None:
        """Nothing is kept open."""

    async def _ask(self, path: str, body: bytes | None, timeout_s: float) -> bytes:
        def ask() -> bytes:
            try:
                with urllib.request.urlopen(self._url + path, data=body, timeout=timeout_s) as answer:
                    return bytes(answer.read())
            except (OSError, ValueError) as error:
                raise ParentUnavailable(f"{self._url}{path}: {error}") from error

        return await asyncio.to_thread(ask)
