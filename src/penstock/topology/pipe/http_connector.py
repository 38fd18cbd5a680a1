"""Connector to a Penstock parent over its HTTP port. One lasting connection, one request at a time."""

from __future__ import annotations

import asyncio
import uuid
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from penstock.config.settings import PipeSettings
from penstock.topology.pipe.interface import ParentTopic, ParentTopics, ParentUnavailable
from penstock.topology.pipe.wire import PullAnswer, PullRequest, WireError, decode_answer, encode_request

if TYPE_CHECKING:
    import aiohttp

READ_BUFFER_BYTES = 1 << 20
BATCH_BYTES_MAX = 256 << 20  # no log has larger batches


class HttpPipeConnector:
    """Implements `topology.pipe.interface.PipeConnector`."""

    def __init__(self, parent_url: str, settings: PipeSettings) -> None:
        parts = urlsplit(parent_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"pipe.parent_url is {parent_url!r}; write http://host:port, the parent's HTTP port")
        self._url = parent_url
        self._timeout_s = settings.timeout_ms / 1000
        self._bytes_max = settings.answer_bytes_max + BATCH_BYTES_MAX
        self._session: aiohttp.ClientSession | None = None

    async def topics(self) -> ParentTopics:
        answer = await self._ask("GET", "/pipe/topics", None, self._timeout_s)
        try:
            return _parent_topics(answer)
        except (ValueError, KeyError, TypeError) as error:
            raise ParentUnavailable(f"{self._url}/pipe/topics: not a list of topics: {error!r}") from error

    async def pull(self, request: PullRequest) -> PullAnswer:
        timeout_s = request.wait_ms / 1000 + self._timeout_s
        try:
            return decode_answer(await self._ask("POST", "/pipe/records", encode_request(request), timeout_s))
        except WireError as error:
            raise ParentUnavailable(f"{self._url}/pipe/records: {error}") from error

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _ask(self, method: str, path: str, body: bytes | None, timeout_s: float) -> bytes:
        session = self._session or await self._open()
        import aiohttp

        timeout = aiohttp.ClientTimeout(total=timeout_s)
        try:
            async with session.request(method, self._url + path, data=body, timeout=timeout) as response:
                content = await self._read(response)
                if response.status != 200:
                    text = content[:300].decode(errors="replace").strip()
                    raise ParentUnavailable(f"{self._url}{path} answered {response.status}: {text}")
                return content
        except TimeoutError as error:
            raise ParentUnavailable(f"{self._url}{path} gave no answer within {timeout_s:g} s") from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise ParentUnavailable(f"{self._url}{path}: {str(error) or type(error).__name__}") from error

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        """Read a body up to the most that a sound parent sends: one batch may be larger than an answer should be."""
        if response.content_length is not None and response.content_length <= self._bytes_max:
            return await response.read()
        content = bytearray()
        async for piece in response.content.iter_any():
            content += piece
            if len(content) > self._bytes_max:
                raise ParentUnavailable(f"{self._url} sends more than {self._bytes_max} bytes")
        return bytes(content)

    async def _open(self) -> aiohttp.ClientSession:
        await asyncio.to_thread(__import__, "aiohttp")  # the import is slow, and most nodes have no parent
        import aiohttp

        self._session = aiohttp.ClientSession(
            read_bufsize=READ_BUFFER_BYTES, connector=aiohttp.TCPConnector(limit=2), auto_decompress=False
        )
        return self._session


def _parent_topics(body: bytes) -> ParentTopics:
    import json

    document: dict[str, Any] = json.loads(body)
    topics = [
        ParentTopic(
            name=str(each["name"]),
            topic_id=uuid.UUID(each["id"]),
            partition_count=len(each["partitions"]),
            configs={str(name): str(value) for name, value in each["configs"].items()},
            ends=[int(partition.get("logEnd", -1)) for partition in each["partitions"]],
        )
        for each in document["topics"]
    ]
    return ParentTopics(version=int(document["version"]), topics=topics)
