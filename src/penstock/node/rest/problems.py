"""Errors as problem+json, with Kafka's name and the remedy.

Services raise KafkaErrors, in Kafka's words where Kafka has some. The table here gives each code its
status, and the remedy that those words leave out.
"""

from __future__ import annotations

import logging
import re
from http import HTTPStatus
from typing import Any, Final, NamedTuple

from fastapi import FastAPI, Request
from starlette.responses import Response

from penstock.model.errors import ErrorCode, KafkaError
from penstock.net.http.server import add_problems, problem

logger = logging.getLogger(__name__)

BODY_BYTES_MAX: Final = 256 * 1024
"""Parsing this much takes the event loop a few milliseconds at most, also if it is full of mistakes (`bodies`); larger
messages come over the Kafka port.
"""
RETRY_AFTER_S: Final = "1"

_E = ErrorCode
_S = HTTPStatus


class Meaning(NamedTuple):
    status: HTTPStatus
    text: str
    """Texts for errors that come without one."""
    remedy: str


_ASK: Final = "ask the administrator of the node for the right"
_MEANINGS: Final = {
    _E.UNKNOWN_TOPIC_OR_PARTITION: Meaning(
        _S.NOT_FOUND, "there is no such topic or partition", "GET /api/v1/topics lists the topics"
    ),
    _E.UNKNOWN_TOPIC_ID: Meaning(_S.NOT_FOUND, "the topic is gone", "GET /api/v1/topics lists the topics"),
    _E.GROUP_ID_NOT_FOUND: Meaning(_S.NOT_FOUND, "there is no such group", "GET /api/v1/groups lists the groups"),
    _E.TRANSACTIONAL_ID_NOT_FOUND: Meaning(
        _S.NOT_FOUND, "there is no such transactional id", "GET /api/v1/transactions lists them"
    ),
    _E.BROKER_ID_NOT_REGISTERED: Meaning(_S.NOT_FOUND, "there is no such broker", "GET /api/v1/brokers lists them"),
    _E.RESOURCE_NOT_FOUND: Meaning(_S.NOT_FOUND, "there is no such path", "see /api/v1/docs for what there is"),
    _E.TOPIC_ALREADY_EXISTS: Meaning(
        _S.CONFLICT, "the topic exists", "choose another name, or change its configs and partitions instead"
    ),
    _E.NON_EMPTY_GROUP: Meaning(_S.CONFLICT, "the group has members", "stop its consumers first"),
    _E.REBALANCE_IN_PROGRESS: Meaning(_S.CONFLICT, "the group rebalances", "stop its consumers first"),
    _E.INCONSISTENT_GROUP_PROTOCOL: Meaning(_S.CONFLICT, "the group is in use", "stop its consumers first"),
    _E.INVALID_TXN_STATE: Meaning(
        _S.CONFLICT, "that transaction is not open any more", "look at it again before you abort it"
    ),
    _E.CONCURRENT_TRANSACTIONS: Meaning(_S.CONFLICT, "the transaction is being ended", "try again in a moment"),
    _E.INVALID_PRODUCER_EPOCH: Meaning(_S.CONFLICT, "its producer went on", "look at it again before you abort it"),
    _E.POLICY_VIOLATION: Meaning(
        _S.FORBIDDEN, "the settings of this node do not allow it", "see `limits` in the settings of the node"
    ),
    _E.TOPIC_AUTHORIZATION_FAILED: Meaning(_S.FORBIDDEN, "you may not do that to this topic", _ASK),
    _E.GROUP_AUTHORIZATION_FAILED: Meaning(_S.FORBIDDEN, "you may not do that to this group", _ASK),
    _E.CLUSTER_AUTHORIZATION_FAILED: Meaning(_S.FORBIDDEN, "you may not do that to the cluster", _ASK),
    _E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: Meaning(
        _S.FORBIDDEN, "you may not do that to this transactional id", _ASK
    ),
    _E.SASL_AUTHENTICATION_FAILED: Meaning(
        _S.UNAUTHORIZED, "your login has ended", "log in again"
    ),
    _E.MESSAGE_TOO_LARGE: Meaning(
        _S.REQUEST_ENTITY_TOO_LARGE, "the message is too large", "raise max.message.bytes of the topic, or send less"
    ),
    _E.COORDINATOR_LOAD_IN_PROGRESS: Meaning(
        _S.SERVICE_UNAVAILABLE, "the coordinator is still reading its log", "try again in a moment"
    ),
    _E.COORDINATOR_NOT_AVAILABLE: Meaning(
        _S.SERVICE_UNAVAILABLE, "the coordinator cannot be asked now", "try again; GET /health/ready says what is wrong"
    ),
    _E.NOT_COORDINATOR: Meaning(_S.SERVICE_UNAVAILABLE, "the node stops", "try again when it has started"),
    _E.REQUEST_TIMED_OUT: Meaning(_S.SERVICE_UNAVAILABLE, "the node is busy or stops", "try again in a moment"),
    _E.KAFKA_STORAGE_ERROR: Meaning(
        _S.SERVICE_UNAVAILABLE, "the partition's log has failed, or the disk is full",
        "GET /health/ready and the node's log say what is wrong",
    ),
    _E.CORRUPT_MESSAGE: Meaning(
        _S.INTERNAL_SERVER_ERROR, "the records are damaged", "penstock log verify shows where, log repair helps"
    ),
    _E.UNKNOWN_SERVER_ERROR: Meaning(
        _S.INTERNAL_SERVER_ERROR, "the node made a mistake", "its log has the details; please report it"
    ),
    _E.OFFSET_OUT_OF_RANGE: Meaning(
        _S.BAD_REQUEST, "the partition has no such offset", "choose one from log_start to high_watermark"
    ),
    _E.INVALID_TOPIC_EXCEPTION: Meaning(
        _S.BAD_REQUEST, "that is not a name of a topic", "use 1 to 249 letters, digits, dots, dashes and underscores"
    ),
    _E.INVALID_PARTITIONS: Meaning(_S.BAD_REQUEST, "invalid number of partitions", "ask for more than there are"),
    _E.INVALID_REPLICATION_FACTOR: Meaning(_S.BAD_REQUEST, "invalid number of replicas", "leave it out, or use 1"),
    _E.INVALID_CONFIG: Meaning(
        _S.BAD_REQUEST, "unknown config, or invalid value", "GET the configs for their names, types and values"
    ),
    _E.INVALID_RECORD: Meaning(_S.BAD_REQUEST, "the topic does not take such a message", "see the topic's configs"),
    _E.INVALID_TIMESTAMP: Meaning(
        _S.BAD_REQUEST, "the topic does not take messages of that time",
        "leave the timestamp out, or see message.timestamp.before.max.ms and message.timestamp.after.max.ms",
    ),
}  # fmt: skip
_OTHERWISE: Final = Meaning(_S.BAD_REQUEST, "the request cannot be served", "see /api/v1/docs for what it may be")

_NAMES: Final = {
    _S.UNAUTHORIZED: _E.SASL_AUTHENTICATION_FAILED,
    _S.NOT_FOUND: _E.RESOURCE_NOT_FOUND,
    _S.METHOD_NOT_ALLOWED: _E.INVALID_REQUEST,
    _S.BAD_REQUEST: _E.INVALID_REQUEST,
    _S.REQUEST_ENTITY_TOO_LARGE: _E.MESSAGE_TOO_LARGE,
    _S.UNSUPPORTED_MEDIA_TYPE: _E.INVALID_REQUEST,
}
"""Kafka's names for errors that the web stack raises by itself."""


def add_admin_problems(app: FastAPI) -> None:
    add_problems(
        app,
        body_bytes_max=BODY_BYTES_MAX,
        what_there_is="there is no such path; see /api/v1/docs for what there is",
        more=lambda status: _named(_NAMES.get(status, _E.INVALID_REQUEST)),
    )
    app.add_exception_handler(HTTPStatus.METHOD_NOT_ALLOWED, _other_method)
    app.add_exception_handler(KafkaError, _refused)
    app.add_exception_handler(Exception, _mistake)


def error_text(error: KafkaError) -> str:
    """The problem and its remedy."""
    meaning = _MEANINGS.get(error.code, _OTHERWISE)
    text = (error.message or meaning.text).rstrip(".")
    return text if ";" in text else f"{text}; {meaning.remedy}"


def _named(code: ErrorCode) -> dict[str, Any]:
    return {"error": code.name, "code": int(code)}


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, KafkaError)
    status = _MEANINGS.get(error.code, _OTHERWISE).status
    response = problem(status, error_text(error), request.url.path, **_named(error.code))
    if status is HTTPStatus.SERVICE_UNAVAILABLE:
        response.headers["Retry-After"] = RETRY_AFTER_S
    return response


async def _other_method(request: Request, _: Exception) -> Response:
    """All methods of the path are named: its routes have one each, and the web stack knows only of the first."""
    path = request.scope["path"].removeprefix(request.scope.get("root_path", ""))
    found = {"GET"}
    for template, operations in request.app.openapi()["paths"].items():
        if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", template), path):
            found = {method.upper() for method in operations}
    methods = ", ".join(sorted(found))
    status = HTTPStatus.METHOD_NOT_ALLOWED
    text = f"{request.method[:20]} is not possible here; this path takes {methods}"
    response = problem(status, text, request.url.path, **_named(_NAMES[status]))
    response.headers["Allow"] = methods
    return response


async def _mistake(request: Request, error: Exception) -> Response:
    """The server logs it, too, with its traceback."""
    logger.error("%s %s failed: %r", request.method, request.url.path, error)
    code = ErrorCode.UNKNOWN_SERVER_ERROR
    return problem(HTTPStatus.INTERNAL_SERVER_ERROR, error_text(KafkaError(code)), request.url.path, **_named(code))


def not_found(code: ErrorCode, text: str) -> KafkaError:
    return KafkaError(code, f"{text}; {_MEANINGS[code].remedy}")


def invalid(text: str) -> KafkaError:
    """`text` says what to do."""
    return KafkaError(ErrorCode.INVALID_REQUEST, text)
