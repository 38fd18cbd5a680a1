"""Messages as JSON. Bytes that are UTF-8 are shown and taken as text, others as base64."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from penstock.model.batch_builder import NewRecord
from penstock.model.record import Record
from penstock.node.rest.bodies import Answer, Question
from penstock.node.rest.parameters import INDEX_MAX, MILLISECONDS_MAX

SHOWN_BYTES_MAX = 256 * 1024
HEADERS_MAX = 100


def _encodable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("it has a lone surrogate; send the bytes as base64") from None
    return text


def _base64(text: str) -> str:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(
            "it is not base64; encode the bytes with their padding, or send a text without _base64"
        ) from None
    return text


Text = Annotated[str, AfterValidator(_encodable)]
Base64 = Annotated[str, AfterValidator(_base64), Field(json_schema_extra={"contentEncoding": "base64"})]


def _one(body: Question, *names: str) -> None:
    if all(getattr(body, name) is not None for name in names):
        raise ValueError(f"give {' or '.join(names)}, not both")


def _bytes(text: str | None, encoded: str | None) -> bytes | None:
    if encoded is not None:
        return base64.b64decode(encoded)
    return None if text is None else text.encode()


class NewHeaderBody(Question):
    name: Text = Field(max_length=32_767, examples=["source"])
    value: Text | None = Field(default=None, examples=["web"])
    value_base64: Base64 | None = None

    @model_validator(mode="after")
    def _agree(self) -> NewHeaderBody:
        _one(self, "value", "value_base64")
        return self


class NewMessageBody(Question):
    """Without key, value and headers it is an empty message; a null value with a key is a tombstone."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "key": "c-17",
                    "value": {"customer": 17, "total": 9.9},
                    "headers": [{"name": "source", "value": "web"}],
                },
                {"key": "c-17", "value": None},
                {"value_base64": "//4=", "partition": 2},
            ]
        }
    )

    key: Text | None = None
    key_base64: Base64 | None = None
    value: Any = Field(default=None, description="A text as it is, anything else as JSON; null is a tombstone.")
    value_base64: Base64 | None = None
    headers: list[NewHeaderBody] = Field(default_factory=list, max_length=HEADERS_MAX)
    partition: Annotated[int, Field(ge=0, le=INDEX_MAX)] | None = Field(
        default=None, description="Without one: the key's partition as in Kafka's clients, or in turn."
    )
    timestamp: Annotated[int, Field(ge=0, le=MILLISECONDS_MAX)] | None = Field(
        default=None, description="Milliseconds since 1970; without one, now."
    )

    @model_validator(mode="after")
    def _agree(self) -> NewMessageBody:
        _one(self, "key", "key_base64")
        _one(self, "value", "value_base64")
        if isinstance(self.value, str):
            _encodable(self.value)
        return self

    def record(self) -> NewRecord:
        value = self.value
        if value is not None and not isinstance(value, str):
            value = json.dumps(value, separators=(",", ":"))
        headers = tuple((each.name, _bytes(each.value, each.value_base64)) for each in self.headers)
        return NewRecord(_bytes(self.key, self.key_base64), _bytes(value, self.value_base64), headers, self.timestamp)


class StoredBody(Answer):
    """The place of a stored message."""

    topic: str = Field(examples=["orders"])
    partition: int = Field(examples=[0])
    offset: int = Field(examples=[42])


class HeaderBody(Answer):
    name: str = Field(examples=["source"])
    value: str | None = Field(examples=["web"])
    value_base64: str | None = Field(examples=[None])


class MessageBody(Answer):
    offset: int = Field(examples=[42])
    timestamp: int = Field(description="Milliseconds since 1970; -1 if it has none.", examples=[1772355600000])
    key: str | None = Field(description="Null if there is none, or if it is not UTF-8.", examples=["c-17"])
    key_base64: str | None = Field(description="If it is not UTF-8.", examples=[None])
    value: str | None = Field(examples=['{"customer":17,"total":9.9}'])
    value_base64: str | None = Field(examples=[None])
    value_bytes: int | None = Field(description="Size in bytes; null is a tombstone.", examples=[27])
    cut: bool = Field(
        description=f"The key or value has more than {SHOWN_BYTES_MAX} bytes, and only those are shown.",
        examples=[False],
    )
    headers: list[HeaderBody]

    @classmethod
    def of(cls, record: Record) -> MessageBody:
        key, key_base64 = _shown(record.key)
        value, value_base64 = _shown(record.value)
        return cls(
            offset=record.offset,
            timestamp=record.timestamp,
            key=key,
            key_base64=key_base64,
            value=value,
            value_base64=value_base64,
            value_bytes=None if record.value is None else len(record.value),
            cut=any(part is not None and len(part) > SHOWN_BYTES_MAX for part in (record.key, record.value)),
            headers=[_header(name, content) for name, content in record.headers],
        )


def _header(name: str, content: bytes | None) -> HeaderBody:
    text, encoded = _shown(content)
    shown = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return HeaderBody(name=shown, value=text, value_base64=encoded)


def _shown(content: bytes | None) -> tuple[str | None, str | None]:
    if content is None:
        return None, None
    part = content[:SHOWN_BYTES_MAX]
    try:
        return part.decode(), None
    except UnicodeDecodeError:
        return None, base64.b64encode(part).decode()


class MessagesBody(Answer):
    topic: str = Field(examples=["orders"])
    partition: int = Field(examples=[0])
    messages: list[MessageBody]
    next_offset: int = Field(description="Go on from here: pass it as `offset`.", examples=[43])
    log_start: int = Field(examples=[0])
    high_watermark: int = Field(examples=[43])
    last_stable: int = Field(
        description="The last stable offset: readers of committed messages stop here.", examples=[43]
    )
