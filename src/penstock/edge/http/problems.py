"""Errors of the consumer application as answers over HTTP."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import FastAPI, Request
from starlette.responses import Response

from penstock.edge.errors import EdgeError, Replaced
from penstock.edge.http.cursors import BadCursor
from penstock.net.http.parameters import unknown_parameter
from penstock.net.http.server import add_problems, problem

BODY_BYTES_MAX = 64 << 10
RETRY_AFTER_S = "1"
WHAT_THERE_IS = "this port has /messages, /messages/latest, /stats, /segments, /refresh, /health, /metrics and /docs"


class BadQuery(ValueError):
    """Parameters that are unknown or contradict each other; the text names the fix."""


async def no_unknown_parameters(request: Request) -> None:
    """Refuse a query with a parameter that the path does not have."""
    finding = unknown_parameter(request)
    if finding is not None:
        raise BadQuery(finding)


def add_handlers(app: FastAPI) -> None:
    add_problems(app, body_bytes_max=BODY_BYTES_MAX, what_there_is=WHAT_THERE_IS)
    for kind in (BadQuery, BadCursor, EdgeError):
        app.add_exception_handler(kind, _refused)


async def _refused(request: Request, error: Exception) -> Response:
    if not isinstance(error, EdgeError):
        return problem(HTTPStatus.BAD_REQUEST, str(error), request.url.path)
    if isinstance(error, Replaced):
        return problem(HTTPStatus.GONE, str(error), request.url.path)
    response = problem(HTTPStatus.SERVICE_UNAVAILABLE, str(error), request.url.path)
    response.headers["Retry-After"] = RETRY_AFTER_S
    return response
