"""Answers that routes have besides the usual one, for the OpenAPI page."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from penstock.net.http.problem import PROBLEM_TYPE

Responses = dict[int | str, dict[str, Any]]

_SCHEMA = {"schema": {"$ref": "#/components/schemas/ProblemBody"}}


def problems(*statuses: HTTPStatus) -> Responses:
    return {int(status): {"description": status.phrase, "content": {PROBLEM_TYPE: _SCHEMA}} for status in statuses}


NOT_FOUND = problems(HTTPStatus.NOT_FOUND)
FORBIDDEN = problems(HTTPStatus.FORBIDDEN)
CONFLICT = problems(HTTPStatus.CONFLICT)
ANY = problems(
    HTTPStatus.BAD_REQUEST, HTTPStatus.UNAUTHORIZED, HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.INTERNAL_SERVER_ERROR, HTTPStatus.SERVICE_UNAVAILABLE,
)  # fmt: skip
"""Answers that every route may give."""


def created(what: str, links: dict[str, dict[str, str]]) -> Responses:
    """A 201 that says where the new thing is; `links` are operations on it, with their parameters."""
    header = {"description": f"Path of the {what}.", "schema": {"type": "string"}}
    return {
        201: {
            "description": f"The {what} is there, durably.",
            "headers": {"Location": header},
            "links": {name: {"operationId": name, "parameters": parameters} for name, parameters in links.items()},
        }
    }
