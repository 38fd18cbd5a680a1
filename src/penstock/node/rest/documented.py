"""Answers that routes have besides the usual one, for the OpenAPI page."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from penstock.net.web import PROBLEM_TYPE

Responses = dict[int | str, dict[str, Any]]

_SCHEMA = {"schema": {"$ref": "#/components/schemas/ProblemBody"}}


def problems(*statuses: HTTPStatus) -> Responses:
    return {int(status): {"description": status.phrase, "content": {PROBLEM_TYPE: _SCHEMA}} for status in statuses}


NOT_FOUND = problems(HTTPStatus.NOT_FOUND)
FORBIDDEN = problems(HTTPStatus.FORBIDDEN)
CONFLICT = problems(HTTPStatus.CONFLICT)
TOO_LARGE = problems(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
ANY = problems(
    HTTPStatus.BAD_REQUEST, HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.INTERNAL_SERVER_ERROR,
    HTTPStatus.SERVICE_UNAVAILABLE,
)  # fmt: skip
"""What every route may answer."""


def created(what: str) -> Responses:
    header = {"description": f"Path of the {what}.", "schema": {"type": "string"}}
    return {
        200: {"description": f"With validate_only: the {what} could be made."},
        201: {"description": f"The {what} is there, durably.", "headers": {"Location": header}},
    }
