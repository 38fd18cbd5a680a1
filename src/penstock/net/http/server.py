"""The base of every HTTP application of Penstock: problem+json (RFC 9457), a limit on bodies, and a page.

Imports the web stack: for modules that are loaded when an application is built, in a thread.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, NamedTuple

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from penstock.net.http.api_page import page
from penstock.net.http.problem import PROBLEM_TYPE

FINDINGS_MAX = 20
NOT_JSON = "the body is not JSON"
_SEND_JSON = "send JSON in UTF-8"
_UNREADABLE = "There was an error parsing the body"  # FastAPI's message for bytes that are not text


class _Documents(NamedTuple):
    """What describes an application, as it is sent."""

    openapi: bytes
    page: bytes


class WebApplication(FastAPI):
    """FastAPI, with a page at /docs that loads nothing from elsewhere.

    Its description takes as long as many requests. It is made once, in a thread.
    """

    def __init__(self, **options: Any) -> None:
        self._documents: dict[str, _Documents] = {}  # by the path at which the application is mounted: there is one
        self._making = asyncio.Lock()
        super().__init__(docs_url=None, redoc_url=None, **options)

    def setup(self) -> None:
        """Add the routes of the description; FastAPI calls it."""
        self.add_route("/openapi.json", self._openapi, include_in_schema=False)
        self.add_route("/docs", self._page, include_in_schema=False)

    async def _openapi(self, request: Request) -> Response:
        return Response((await self._described(request)).openapi, media_type="application/json")

    async def _page(self, request: Request) -> Response:
        return HTMLResponse((await self._described(request)).page)

    async def _described(self, request: Request) -> _Documents:
        root = request.scope.get("root_path", "").rstrip("/")
        async with self._making:
            if root not in self._documents:
                self._documents[root] = await asyncio.to_thread(self._describe, root)
        return self._documents[root]

    def _describe(self, root: str) -> _Documents:
        schema = self.openapi()
        text = page(schema, prefix=root)
        servers = schema.get("servers", [])
        if root and self.root_path_in_servers and all(server.get("url") != root for server in servers):
            schema = {**schema, "servers": [{"url": root}, *servers]}
        return _Documents(openapi=bytes(JSONResponse(schema).body), page=text.encode())


def problem(status: HTTPStatus, detail: str, path: str, kind: str = "about:blank", **more: Any) -> Response:
    body = {"type": kind, "title": status.phrase, "status": int(status), "detail": detail, "instance": path, **more}
    return Response(json.dumps(body) + "\n", status_code=status, media_type=PROBLEM_TYPE)


def documented(*statuses: HTTPStatus) -> dict[int | str, dict[str, Any]]:
    """An entry for the `responses` of a route."""
    text = {"type": "string"}
    fields = {"type": text, "title": text, "status": {"type": "integer"}, "detail": text, "instance": text}
    schema = {"schema": {"title": "Problem", "type": "object", "properties": fields}}
    return {int(status): {"description": status.phrase, "content": {PROBLEM_TYPE: schema}} for status in statuses}


More = Callable[[HTTPStatus], dict[str, Any]]


def _nothing(_: HTTPStatus) -> dict[str, Any]:
    return {}


def add_problems(
    app: FastAPI,
    *,
    body_bytes_max: int,
    what_there_is: str,
    wrong_fields: HTTPStatus = HTTPStatus.BAD_REQUEST,
    more: More = _nothing,
) -> None:
    """Answer malformed requests and unknown paths as problems; `what_there_is` names the existing paths to the user.

    `wrong_fields` is the status for JSON of the wrong shape; `more` returns the fields that the application's problems
    have besides the standard ones.
    """

    async def invalid(request: Request, error: Exception) -> Response:
        """Report the first mistakes at once, each with its place; the values that were sent are not repeated.

        By now FastAPI has made a finding of each, on the loop: models of bodies must not allow for very many.
        """
        assert isinstance(error, RequestValidationError)
        findings = error.errors()
        wrong = next((finding for finding in findings if finding["type"] == "json_invalid"), None)
        status = HTTPStatus.BAD_REQUEST
        if wrong is not None:
            detail = f"{NOT_JSON} ({wrong['ctx']['error']}, at character {wrong['loc'][-1]}); {_SEND_JSON}"
        elif any(isinstance(finding.get("input"), bytes) for finding in findings):
            detail = "the body was not looked at; send JSON, and the header Content-Type: application/json"
        else:
            status, detail = wrong_fields, "; ".join(map(_sentence, findings[:FINDINGS_MAX]))
        return problem(status, detail, request.url.path, **more(status))

    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        status = HTTPStatus(error.status_code)
        detail = f"{NOT_JSON}; {_SEND_JSON}" if error.detail == _UNREADABLE else str(error.detail)
        if status is HTTPStatus.NOT_FOUND and detail == status.phrase:
            detail = what_there_is
        response = problem(status, detail, request.url.path, **more(status))
        response.headers.update(error.headers or {})
        return response

    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, refused)
    app.add_middleware(BodyLimit, bytes_max=body_bytes_max, more=more)


def _sentence(finding: Any) -> str:
    place = ".".join(map(str, finding["loc"][1:])) or "body"
    if finding["type"] == "extra_forbidden":
        return f"{place}: there is no such field; leave it out, or correct its name"
    return f"{place}: {finding['msg'].removeprefix('Value error, ').replace('Input should', 'should')}"


class BodyLimit:
    """Middleware that answers a body above the limit with 413, whether its length was announced or not."""

    def __init__(self, app: ASGIApp, bytes_max: int, more: More = _nothing) -> None:
        self._app = app
        self._bytes_max = bytes_max
        self._more = more(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        received = 0
        too_large = f"a body has at most {self._bytes_max} bytes here"

        async def limited() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self._bytes_max:
                raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, too_large, {"Connection": "close"})
            return message

        announced = dict(scope["headers"]).get(b"content-length", b"0")
        if announced.isdigit() and int(announced) > self._bytes_max:
            response = problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, too_large, scope["path"], **self._more)
            response.headers["Connection"] = "close"
            await response(scope, receive, send)
            return
        await self._app(scope, limited, send)
