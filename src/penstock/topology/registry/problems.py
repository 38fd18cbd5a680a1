"""Errors over HTTP as problem+json, and a limit on bodies before they are read."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import FastAPI, Request
from starlette.responses import Response

from penstock.net.http.server import add_problems, problem
from penstock.topology.registry.errors import (
    Cycle,
    Full,
    IdInUse,
    InstanceWanted,
    NotAParent,
    NotOwner,
    Refusal,
    UnknownNode,
)
from penstock.topology.registry.service import NotStored

BODY_BYTES_MAX = 64 * 1024
RETRY_AFTER_S = "5"
_STATUS: dict[type[Refusal], HTTPStatus] = {
    UnknownNode: HTTPStatus.NOT_FOUND,
    IdInUse: HTTPStatus.CONFLICT,
    InstanceWanted: HTTPStatus.CONFLICT,
    NotOwner: HTTPStatus.FORBIDDEN,
    Cycle: HTTPStatus.CONFLICT,
    NotAParent: HTTPStatus.CONFLICT,
    Full: HTTPStatus.INSUFFICIENT_STORAGE,
}
_TYPES: dict[type[Refusal], str] = {
    UnknownNode: "unknown-node",
    IdInUse: "id-in-use",
    InstanceWanted: "instance-wanted",
    NotOwner: "not-owner",
    Cycle: "cycle",
    NotAParent: "not-a-parent",
    Full: "full",
}


def add_handlers(app: FastAPI) -> None:
    app.add_exception_handler(Refusal, _refused)
    app.add_exception_handler(NotStored, _not_stored)
    add_problems(
        app,
        body_bytes_max=BODY_BYTES_MAX,
        what_there_is="see /registry/docs for what there is",
        wrong_fields=HTTPStatus.UNPROCESSABLE_ENTITY,
    )


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    more = {"cycle": list(error.path)} if isinstance(error, Cycle) else {}
    return problem(_STATUS[type(error)], str(error), request.url.path, _TYPES[type(error)], **more)


async def _not_stored(request: Request, error: Exception) -> Response:
    detail = f"the registry's disk does not take it ({error}); it is tried again"
    response = problem(HTTPStatus.SERVICE_UNAVAILABLE, detail, request.url.path)
    response.headers["Retry-After"] = RETRY_AFTER_S
    return response
