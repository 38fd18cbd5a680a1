"""Whatever goes wrong over HTTP, as problem+json; and a limit on bodies before anybody reads them."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from penstock.net.web import BodyLimit, problem
from penstock.topology.registry.errors import Cycle, Full, IdInUse, NotAParent, Refusal, UnknownNode
from penstock.topology.registry.service import NotStored

BODY_BYTES_MAX = 64 * 1024
RETRY_AFTER_S = "5"
_STATUS: dict[type[Refusal], HTTPStatus] = {
    UnknownNode: HTTPStatus.NOT_FOUND,
    IdInUse: HTTPStatus.CONFLICT,
    Cycle: HTTPStatus.CONFLICT,
    NotAParent: HTTPStatus.CONFLICT,
    Full: HTTPStatus.INSUFFICIENT_STORAGE,
}
_TYPES: dict[type[Refusal], str] = {
    UnknownNode: "unknown-node",
    IdInUse: "id-in-use",
    Cycle: "cycle",
    NotAParent: "not-a-parent",
    Full: "full",
}


def add_handlers(app: FastAPI) -> None:
    app.add_exception_handler(Refusal, _refused)
    app.add_exception_handler(NotStored, _not_stored)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_middleware(BodyLimit, bytes_max=BODY_BYTES_MAX)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    more = {"cycle": list(error.path)} if isinstance(error, Cycle) else {}
    return problem(_STATUS[type(error)], str(error), request.url.path, _TYPES[type(error)], **more)


async def _not_stored(request: Request, error: Exception) -> Response:
    detail = f"the registry's disk does not take it ({error}); it is tried again"
    response = problem(HTTPStatus.SERVICE_UNAVAILABLE, detail, request.url.path)
    response.headers["Retry-After"] = RETRY_AFTER_S
    return response


async def _invalid(request: Request, error: Exception) -> Response:
    """Every mistake at once, each with its place; what was sent is not sent back."""
    assert isinstance(error, RequestValidationError)
    findings = error.errors()
    if any(finding["type"] == "json_invalid" for finding in findings):
        return problem(HTTPStatus.BAD_REQUEST, "the body is not JSON", request.url.path)
    told = [
        f"{'.'.join(map(str, finding['loc'][1:])) or 'body'}: {finding['msg'].replace('Input should', 'should')}"
        for finding in findings[:20]
    ]
    return problem(HTTPStatus.UNPROCESSABLE_ENTITY, "; ".join(told), request.url.path)


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    status = HTTPStatus(error.status_code)
    detail = error.detail if status is not HTTPStatus.NOT_FOUND else "see /registry/docs for what there is"
    response = problem(status, str(detail), request.url.path)
    response.headers.update(error.headers or {})
    return response
