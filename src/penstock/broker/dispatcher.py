"""From a frame to an answer: header, table of APIs, decoding, the handler, encoding.

Produce and Fetch have codecs of their own and get the bare frame; every other handler gets a `Call`. Handlers and
schemas are loaded when a version of an API is first used, since all of them take more than a second; in a thread, since
each takes long enough for the other clients to notice. So does decoding a large request, which is in a thread, too.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from penstock.broker.broker import Broker
from penstock.broker.call import Call
from penstock.model.errors import ErrorCode
from penstock.model.limits import REQUEST_BYTES_DECODED_AT_ONCE
from penstock.net.caller import Caller
from penstock.net.pending import Buffers
from penstock.net.service import Answer
from penstock.protocol.kafka.apis import API_VERSIONS, APIS, FETCH, PRODUCE, Api
from penstock.protocol.kafka.headers import RequestHeader, body_start, read_request_header, response_header
from penstock.protocol.kafka.messages import Entity, decode_request, encode, load, response_messages
from penstock.protocol.kafka.primitives import MalformedRequest

log = logging.getLogger(__name__)

Buffer = bytes | bytearray | memoryview
Handler = Callable[[Broker, Call], Any]
FetchHandler = Callable[[Broker, RequestHeader, memoryview, int], Answer]
ProduceHandler = Callable[[Broker, RequestHeader, memoryview, int, Caller], Answer]


class Dispatcher:
    """The service behind a Kafka listener."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._handlers: dict[int, Handler] = {}
        self._loaded: set[tuple[int, int]] = set()
        self._produce: ProduceHandler = load_handler(APIS[PRODUCE]).handle
        self._fetch: FetchHandler = load_handler(APIS[FETCH]).handle

    def serve(self, frame: memoryview, caller: Caller) -> tuple[bytes, int, Answer]:
        if caller.lane is not None:
            served: tuple[bytes, int, Answer] | None = caller.lane.serve(frame)
            if served is not None:
                return served
        header = read_request_header(frame)
        api = APIS.get(header.api_key)
        if api is None or not api.accepts(header.version):
            return _refuse(header, api)
        start = body_start(frame, header, api)
        head = response_header(header.correlation_id, api, header.version)
        if header.api_key == PRODUCE:
            return head, PRODUCE, self._produce(self._broker, header, frame, start, caller)
        if header.api_key == FETCH:
            return head, FETCH, self._fetch(self._broker, header, frame, start)
        if (api.key, header.version) not in self._loaded:
            return head, api.key, self._load_and_call(api, header, bytes(frame), start, caller)
        if len(frame) > REQUEST_BYTES_DECODED_AT_ONCE:
            return head, api.key, self._decode_and_call(api, header, bytes(frame), start, caller)
        request = _decode(api, header, bytes(frame), start)
        return head, api.key, self._call(api, header, request, caller)

    def answered(self, api_key: int, seconds: float) -> None:
        self._broker.metrics.requests.observe(api_key, seconds)

    async def _load_and_call(
        self, api: Api, header: RequestHeader, frame: bytes, start: int, caller: Caller
    ) -> Buffers | None:
        await asyncio.to_thread(_load, api, header.version)
        self._loaded.add((api.key, header.version))
        return await self._decode_and_call(api, header, frame, start, caller)

    async def _decode_and_call(
        self, api: Api, header: RequestHeader, frame: bytes, start: int, caller: Caller
    ) -> Buffers | None:
        if len(frame) > REQUEST_BYTES_DECODED_AT_ONCE:
            request = await asyncio.to_thread(_decode, api, header, frame, start)
        else:
            request = _decode(api, header, frame, start)
        answer = self._call(api, header, request, caller)
        return answer if isinstance(answer, list) else await answer

    def _call(
        self, api: Api, header: RequestHeader, request: Entity, caller: Caller
    ) -> list[Buffer] | Coroutine[Any, Any, Buffers | None]:
        call = Call(
            api_key=api.key,
            version=header.version,
            correlation_id=header.correlation_id,
            client_id=header.client_id,
            caller=caller,
            request=request,
            reply=response_messages(api.key, header.version),
        )
        handler = self._handlers.get(api.key)
        if handler is None:
            handler = self._handlers[api.key] = load_handler(api).handle
        result = handler(self._broker, call)
        if inspect.isawaitable(result):
            return self._encode_later(api, result)
        return self._encoded(api, result)

    async def _encode_later(self, api: Api, result: Any) -> Buffers | None:
        return self._encoded(api, await result)

    def _encoded(self, api: Api, result: Any) -> list[Buffer]:
        """Also counts the error of an answer as a whole; those of its parts are counted by who gives them."""
        if isinstance(result, bytes | bytearray):
            return [result]
        if isinstance(result, list):
            return result
        code = getattr(result, "error_code", None)
        if code:
            self._broker.metrics.requests.failed(api.key, ErrorCode(code).name)
        return [encode(result)]


def _decode(api: Api, header: RequestHeader, frame: bytes, start: int) -> Entity:
    try:
        return decode_request(api.key, header.version, frame, start)
    except MalformedRequest as problem:
        raise MalformedRequest(f"{api.name} v{header.version}: {problem}") from problem


def _refuse(header: RequestHeader, api: Api | None) -> tuple[bytes, int, Answer]:
    """ApiVersions of a version we do not know is answered in v0, so that the client can step down (KIP-511)."""
    if api is not None and api.key == API_VERSIONS:
        body: bytes = load_handler(api).unsupported_version()
        return response_header(header.correlation_id, api, 0), API_VERSIONS, [body]
    name = api.name if api is not None else f"API {header.api_key}"
    raise MalformedRequest(f"{name} v{header.version} is not supported")


def _load(api: Api, version: int) -> None:
    load_handler(api)
    load(api.key, version)


def load_handler(api: Api) -> Any:
    """The module of a handler, imported at its first use."""
    return importlib.import_module(f"penstock.broker.handlers.{api.handler}")
