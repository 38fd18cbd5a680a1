"""Connector to a Penstock parent over its HTTP port. One lasting connection, one request at a time.

The parent is another machine, perhaps named by the registry: redirects are not followed, and no more is read than a
sound parent sends.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import TYPE_CHECKING

from penstock.config.settings import PipeSettings
from penstock.model.text.http_url import check_http_url
from penstock.topology.http_identity import HttpIdentity, IdentityProblem, detail_of
from penstock.topology.named_parents import NamedParents
from penstock.topology.pipe.interface import ParentTopics, ParentUnavailable
from penstock.topology.pipe.topic_list import TOPICS_BYTES_MAX, BadTopicList, decode_topic_list
from penstock.topology.pipe.wire import PullAnswer, PullRequest, WireError, decode_answer, encode_request

if TYPE_CHECKING:
    import aiohttp

READ_BUFFER_BYTES = 1 << 20
BATCH_BYTES_MAX = 256 << 20  # no log has larger batches
ERROR_BYTES_MAX = 4 << 10  # the beginning of an error is enough to tell it


class HttpPipeConnector:
    """Implements `topology.pipe.interface.PipeConnector`. `registry_url` is the registry that names the parent."""

    def __init__(self, parent_url: str, settings: PipeSettings, registry_url: str | None = None) -> None:
        try:
            check_http_url(parent_url)
        except ValueError as error:
            raise ValueError(f"the parent's URL (pipe.parent_url, or from the registry): {error}") from None
        named = None if registry_url is None else NamedParents(settings, registry_url)
        self._identity = HttpIdentity(settings, "pipe", named)
        self._identity.check(parent_url)
        self._url = parent_url
        self._timeout_s = settings.timeout_ms / 1000
        self._records_bytes_max = settings.answer_bytes_max + BATCH_BYTES_MAX
        self._session: aiohttp.ClientSession | None = None

    async def topics(self) -> ParentTopics:
        body = await self._ask("GET", "/pipe/topics", None, self._timeout_s, TOPICS_BYTES_MAX)
        try:
            return await asyncio.to_thread(decode_topic_list, body)
        except BadTopicList as error:
            raise ParentUnavailable(f"{self._url}/pipe/topics: not a list of topics: {error}") from error

    async def pull(self, request: PullRequest) -> PullAnswer:
        timeout_s = request.wait_ms / 1000 + self._timeout_s
        try:
            body = await self._ask("POST", "/pipe/records", encode_request(request), timeout_s, self._records_bytes_max)
            return decode_answer(body)
        except WireError as error:
            raise ParentUnavailable(f"{self._url}/pipe/records: {error}") from error

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _ask(self, method: str, path: str, body: bytes | None, timeout_s: float, bytes_max: int) -> bytes:
        try:
            session = self._session or await self._open()
        except IdentityProblem as problem:
            raise ParentUnavailable(str(problem)) from problem
        import aiohttp

        url = self._url + path
        timeout = aiohttp.ClientTimeout(total=timeout_s)
        try:
            async with session.request(method, url, data=body, timeout=timeout, allow_redirects=False) as response:
                if response.status != HTTPStatus.OK:
                    raise ParentUnavailable(f"{url} answered {response.status}: {await _reason(response)}")
                return await self._read(response, bytes_max)
        except TimeoutError as error:
            raise ParentUnavailable(f"{self._url}{path} gave no answer within {timeout_s:g} s") from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise ParentUnavailable(f"{self._url}{path}: {self._identity.reason_of(error)}") from error

    async def _read(self, response: aiohttp.ClientResponse, bytes_max: int) -> bytes:
        """Read a body up to the most that a sound parent sends: one batch may be larger than an answer should be."""
        if response.content_length is not None and response.content_length <= bytes_max:
            return await response.read()
        content = bytearray()
        async for piece in response.content.iter_any():
            content += piece
            if len(content) > bytes_max:
                response.close()  # or the rest would be read when the connection is given back
                raise ParentUnavailable(f"{self._url} sends more than {bytes_max} bytes")
        return bytes(content)

    async def _open(self) -> aiohttp.ClientSession:
        await asyncio.to_thread(__import__, "aiohttp")  # the import is slow, and most nodes have no parent
        self._session = await self._identity.session(self._url, read_bufsize=READ_BUFFER_BYTES, auto_decompress=False)
        return self._session


async def _reason(response: aiohttp.ClientResponse) -> str:
    """The parent's reason, or the beginning of its text; the connection ends here, because nobody reads the rest."""
    content = await response.content.read(ERROR_BYTES_MAX)
    response.close()
    return detail_of(content, " ".join(content[:300].decode(errors="replace").split()))
