"""The pipe on a node's HTTP port: /pipe/topics and /pipe/records for children, /pipe/status and /pipe/reset for people.

`/pipe/records` is plain ASGI: its bodies are binary, its answer goes out in pieces, and a child that disconnects
is noticed during the wait.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from penstock.model.errors import KafkaError
from penstock.model.limits import REQUEST_BYTES_DECODED_AT_ONCE
from penstock.net.http.bounded import RETRY_AFTER, until_sent
from penstock.net.http.problem import send_problem
from penstock.net.http.session_gate import session_in, session_of, sharer_in
from penstock.security.access import Access
from penstock.security.resources import Operation
from penstock.topology.pipe.pipe import Pipe
from penstock.topology.pipe.server import PARTITIONS_AT_ONCE_MAX, PipeServer, Pull, TooManyPulls
from penstock.topology.pipe.wire import REQUEST_BYTES_MAX, PullAnswer, WireError, decode_request, encode_answer

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


def pipe_routes(server: PipeServer, pipe: Pipe, access: Access) -> Callable[[], Iterable[BaseRoute]]:
    """A part for `HttpServer(parts=…)`, which calls it where the web stack may be loaded."""

    def build() -> Iterable[BaseRoute]:
        from starlette.routing import Route

        async def topics(request: Request) -> Response:
            return _json(HTTPStatus.OK, await server.topics(session_of(request)))

        async def status(request: Request) -> Response:
            access.check_cluster(session_of(request), Operation.DESCRIBE)
            return _json(HTTPStatus.OK, pipe.status())

        async def reset(request: Request) -> Response:
            access.check_cluster(session_of(request), Operation.ALTER)
            name = request.query_params.get("topic")
            try:
                return _json(HTTPStatus.OK, {"reset": await pipe.reset(name)})
            except LookupError as error:
                return _problem(HTTPStatus.NOT_FOUND, str(error.args[0]))
            except KafkaError as error:
                return _problem(HTTPStatus.SERVICE_UNAVAILABLE, str(error))

        return (
            Route("/pipe/topics", topics),
            Route("/pipe/records", Records(server), methods=["POST"]),
            Route("/pipe/status", status),
            Route("/pipe/reset", reset, methods=["POST"]),
        )

    return build


class Records:
    """POST /pipe/records."""

    def __init__(self, server: PipeServer) -> None:
        self._server = server

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            await _refuse(send, HTTPStatus.METHOD_NOT_ALLOWED, "POST is the method of /pipe/records")
            return
        if self._server.is_stopping:
            await _refuse(send, HTTPStatus.SERVICE_UNAVAILABLE, "the node is stopping")
            return
        try:
            with self._server.place(sharer_in(scope)):
                await self._answer(scope, receive, send)
        except TooManyPulls as error:
            await send_problem(send, HTTPStatus.SERVICE_UNAVAILABLE, str(error), scope["path"], [RETRY_AFTER])

    async def _answer(self, scope: Message, receive: Receive, send: Send) -> None:
        try:
            body = await _body(receive)
            if body is None:
                return
            if len(body) > REQUEST_BYTES_DECODED_AT_ONCE:
                request = await asyncio.to_thread(decode_request, body)
            else:
                request = decode_request(body)
        except WireError as error:
            await _refuse(send, HTTPStatus.BAD_REQUEST, str(error))
            return
        with self._server.pull(session_in(scope), request) as pull:
            answer = await _unless_left(pull, receive)
            if answer is not None:
                if len(answer.partitions) > PARTITIONS_AT_ONCE_MAX:
                    pieces = await asyncio.to_thread(_pieces, answer)
                else:
                    pieces = _pieces(answer)
                await _send(until_sent(send), HTTPStatus.OK, "application/octet-stream", pieces)


def _pieces(answer: PullAnswer) -> list[bytes]:
    return [bytes(each) for each in encode_answer(answer)]


async def _unless_left(pull: Pull, receive: Receive) -> PullAnswer | None:
    """The answer to a pull; None if the child has disconnected."""
    pulling = asyncio.ensure_future(pull.answer())
    leaving = asyncio.ensure_future(_left(receive))
    try:
        await asyncio.wait((pulling, leaving), return_when=asyncio.FIRST_COMPLETED)
        return pulling.result() if pulling.done() else None
    finally:
        for task in (pulling, leaving):
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await pulling


async def _body(receive: Receive) -> bytes | None:
    """The request's body; None if the child has disconnected. WireError if it is too long."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        if len(body) > REQUEST_BYTES_MAX:
            raise WireError(f"a request of more than {REQUEST_BYTES_MAX} bytes")
        if not message.get("more_body"):
            return bytes(body)


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _send(send: Send, status: HTTPStatus, content_type: str, pieces: list[bytes]) -> None:
    size = sum(map(len, pieces))
    headers = [(b"content-type", content_type.encode()), (b"content-length", str(size).encode())]
    await send({"type": "http.response.start", "status": int(status), "headers": headers})
    for index, piece in enumerate(pieces):
        await send({"type": "http.response.body", "body": piece, "more_body": index < len(pieces) - 1})


async def _refuse(send: Send, status: HTTPStatus, detail: str) -> None:
    await _send(send, status, "application/problem+json", [_problem_text(status, detail).encode()])


def _problem_text(status: HTTPStatus, detail: str) -> str:
    body = {"type": "about:blank", "title": status.phrase, "status": int(status), "detail": detail}
    return json.dumps(body) + "\n"


def _problem(status: HTTPStatus, detail: str) -> Response:
    from starlette.responses import Response

    return Response(_problem_text(status, detail), status_code=status, media_type="application/problem+json")


def _json(status: HTTPStatus, body: dict[str, Any]) -> Response:
    from starlette.responses import Response

    return Response(json.dumps(body) + "\n", status_code=status, media_type="application/json")
