"""The argument of a handler: the body of a message as the type that its parameter is annotated with.

    Message, nothing   the message itself
    bytes              the body as it is
    str                UTF-8
    dict               a JSON object
    a pydantic model   the same, validated
    any of them | None a null body is None; without it a null body is an error

A decoder raises PayloadError with the reason. Any other annotation is a ConsumerError.
"""

from __future__ import annotations

import inspect
import json
import types
import typing
from collections.abc import Callable
from typing import Any

from penstock.client.push.message import Message
from penstock.consumers.errors import ConsumerError, PayloadError

Decoder = Callable[[Message], Any]
SHOWN_CHARACTERS = 200


def decoder_for(annotation: Any, where: str) -> Decoder:
    """The decoder of an annotation. `where` names the handler in errors."""
    inner, optional = _without_none(annotation)
    if inner in (inspect.Parameter.empty, Message, Any):
        return _message
    decode = _body_decoder(inner, where)

    def nullable(message: Message) -> Any:
        return None if message.body is None else decode(message.body)

    def never_null(message: Message) -> Any:
        if message.body is None:
            raise PayloadError(f"the body is null, which {_name(inner)} is not; annotate {_name(inner)} | None")
        return decode(message.body)

    return nullable if optional else never_null


def _without_none(annotation: Any) -> tuple[Any, bool]:
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        members = typing.get_args(annotation)
        others = [member for member in members if member is not types.NoneType]
        if len(others) == 1 and len(others) < len(members):
            return others[0], True
    return annotation, False


def _body_decoder(annotation: Any, where: str) -> Callable[[bytes], Any]:
    if annotation is bytes:
        return _bytes
    if annotation is str:
        return _text
    if annotation is dict or typing.get_origin(annotation) is dict:
        return _object
    if isinstance(annotation, type) and hasattr(annotation, "model_validate_json"):
        return _model_decoder(annotation)
    raise ConsumerError(
        f"{where}: cannot decode a body into {_name(annotation)}; annotate the parameter with bytes, str, dict, a"
        " pydantic model, a list of one of these, or Message"
    )


def _message(message: Message) -> Message:
    return message


def _bytes(body: bytes) -> bytes:
    return body


def _text(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise PayloadError(f"the body is not UTF-8: {error}") from error


def _object(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except ValueError as error:  # not UTF-8 is one, too
        raise PayloadError(f"the body is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise PayloadError(f"the body is a JSON {type(value).__name__}, not an object")
    return value


def _model_decoder(model: Any) -> Callable[[bytes], Any]:
    def decode(body: bytes) -> Any:
        try:
            return model.model_validate_json(body)
        except ValueError as error:  # pydantic's ValidationError is one
            findings = (
                "; ".join(_finding(found) for found in error.errors()) if hasattr(error, "errors") else str(error)
            )
            raise PayloadError(f"the body is not a {model.__name__}: {findings[:SHOWN_CHARACTERS]}") from error

    return decode


def _finding(found: Any) -> str:
    place = ".".join(map(str, found["loc"]))
    return f"{place}: {found['msg']}" if place else str(found["msg"])


def _name(annotation: Any) -> str:
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)
