"""From a request to its reply: decoding, the handler, encoding.

Produce and Fetch decode their frames themselves. Handlers and schemas are loaded when a version of an API is first
used, since all of them take more than a second; in a thread, since each takes long enough for other clients to notice.
A large request is decoded, and a large answer encoded, in a thread for the same reason (`codec_threads`).
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable, Coroutine
from types import CoroutineType, GeneratorType
from typing import Any, Final, TypeVar

from penstock.broker.broker import Broker
from penstock.broker.codec_threads import let_go
from penstock.broker.request import AnyRequest, HandlerResult
from penstock.model.errors import ErrorCode
from penstock.model.limits import REQUEST_BYTES_DECODED_AT_ONCE
from penstock.net.connection.scratch import kept
from penstock.net.reply import Buffers, Reply
from penstock.protocol.kafka.apis import API_VERSIONS, APIS, FETCH, PRODUCE, Api
from penstock.protocol.kafka.headers import RequestHeader, response_header
from penstock.protocol.kafka.messages import Entity, arrays_of, decode_request, encode, is_long, load
from penstock.protocol.kafka.primitives import MalformedRequest
from penstock.runtime.turns import begin
from penstock.security.session import Session

_NO_FRAME: Final = memoryview(b"")
_ENCODED: Final = (bytes, bytearray)
T = TypeVar("T")
Handler = Callable[[Broker, AnyRequest], HandlerResult]


class Dispatcher:
    """Calls the handler of each API."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._handlers: dict[int, Handler] = {}
        self._loaded: set[tuple[int, int]] = set()
        self._produce: Callable[[Broker, AnyRequest], Reply] = load_handler(APIS[PRODUCE]).handle
        self._fetch: Callable[[Broker, AnyRequest], Reply] = load_handler(APIS[FETCH]).handle

    def dispatch(self, request: AnyRequest) -> Reply:
        """Raises MalformedRequest if the body is not what its version says."""
        api = request.api
        if api.key == PRODUCE:
            reply = self._produce(self._broker, request)
        elif api.key == FETCH:
            reply = self._fetch(self._broker, request)
        elif (api.key, request.version) not in self._loaded:
            reply = Reply.when(self._load_and_handle(_with_own_frame(request)))
        elif len(request.frame) > REQUEST_BYTES_DECODED_AT_ONCE:
            reply = Reply.when(self._decode_and_handle(_with_own_frame(request)))
        else:
            request.body = _decode(request, bytes(request.frame))
            reply = self._handle(request)
        reply.header = response_header(request.correlation_id, api, request.version)
        reply.api_key = api.key
        return reply

    async def _load_and_handle(self, request: AnyRequest) -> Buffers | None:
        await asyncio.to_thread(_load, request.api, request.version)
        self._loaded.add((request.api.key, request.version))
        return await self._decode_and_handle(request)

    async def _decode_and_handle(self, request: AnyRequest) -> Buffers | None:
        size = len(request.frame)
        if size > REQUEST_BYTES_DECODED_AT_ONCE:
            request.body = await self._in_thread(request.session, size, _decode, request, bytes(request.frame))
        else:
            request.body = _decode(request, bytes(request.frame))
        request.frame = _NO_FRAME  # it may be large, and the answer may take minutes
        request.channel.frame_decoded()
        reply = await self._handle(request, size).wait()
        if size > REQUEST_BYTES_DECODED_AT_ONCE:
            holder, request.body = [getattr(request, "body", None)], None  # some handlers have let go of it
            await self._in_thread(request.session, size, _let_go, holder)
        return reply

    def _handle(self, request: AnyRequest, size: int = 0) -> Reply:
        """`size` is that of the request if it was decoded in a thread."""
        handler = self._handlers.get(request.api.key)
        if handler is None:
            handler = self._handlers[request.api.key] = load_handler(request.api).handle
        result = handler(self._broker, request)
        if isinstance(result, GeneratorType):
            result = begin(result)
        if isinstance(result, _ENCODED):
            return Reply.now([result])
        if isinstance(result, CoroutineType):
            return Reply.when(self._encode_later(request, result, size))
        if isinstance(result, Reply):
            return result
        self._count(request.api, result)
        if is_long(result):
            return Reply.when(self._encode_in_thread(request.session, size, [result]))
        return Reply.now([encode(result)])

    async def _encode_later(self, request: AnyRequest, coming: Coroutine[Any, Any, Any], size: int) -> Buffers | None:
        api, session = request.api, request.session
        del request  # it may be large, and the answer may take minutes
        result = await coming
        if isinstance(result, _ENCODED):
            return [result]
        self._count(api, result)
        if not is_long(result):
            return [encode(result)]
        holder = [result]
        del result  # the thread lets go of it
        return await self._encode_in_thread(session, size, holder)

    async def _encode_in_thread(self, session: Session, size: int, holder: list[Entity]) -> Buffers:
        return [await self._in_thread(session, size, _encode_at_last, holder)]

    async def _in_thread(self, session: Session, size: int, function: Callable[..., T], *args: Any) -> T:
        return await self._broker.codecs.run(session.user, size, function, *args)

    def _count(self, api: Api, result: Entity) -> None:
        """Count the error of a response as a whole; errors of its parts are counted by the handler."""
        code = getattr(result, "error_code", None)
        if code:
            self._broker.metrics.requests.failed(api.key, ErrorCode(code).name)


def _encode_at_last(holder: list[Entity]) -> bytes:
    """Encode the answer in a list, and let go of it."""
    encoded = encode(holder[0])
    _let_go(holder)
    return encoded


def _let_go(holder: list[Entity]) -> None:
    """Free the entity in a list, in a thread and bit by bit: that of half a million elements takes 0.1 s at once."""
    entity = holder.pop()
    arrays = list(arrays_of(entity))
    del entity
    let_go(*arrays)


def _with_own_frame(request: AnyRequest) -> AnyRequest:
    """The request with a frame that stays as it is when the call that serves it has returned."""
    request.frame = kept(request.frame)
    return request


def refuse_version(header: RequestHeader, api: Api | None) -> Reply:
    """Answer ApiVersions of an unknown version in v0, so that the client can step down (KIP-511); refuse the rest."""
    if api is None or api.key != API_VERSIONS:
        name = api.name if api is not None else f"API {header.api_key}"
        raise MalformedRequest(f"{name} v{header.version} is not supported")
    reply = Reply.now([load_handler(api).unsupported_version()])
    reply.header, reply.api_key = response_header(header.correlation_id, api, 0), API_VERSIONS
    return reply


def _decode(request: AnyRequest, frame: bytes) -> Entity:
    api, version = request.api, request.version
    try:
        return decode_request(api.key, version, frame, request.body_start)
    except MalformedRequest as problem:
        raise MalformedRequest(f"{api.name} v{version}: {problem}") from problem


def _load(api: Api, version: int) -> None:
    load_handler(api)
    load(api.key, version)


def load_handler(api: Api) -> Any:
    """The module of a handler, imported at its first use."""
    return importlib.import_module(f"penstock.broker.handlers.{api.handler}")
