"""Request and response headers.

frame            int32 size, then that many bytes
request header   int16 api key, int16 version, int32 correlation id, nullable string client id
                 (+ tagged fields from the API's first flexible version on)
response header  int32 correlation id (+ tagged fields if flexible, but never for ApiVersions)
"""

from __future__ import annotations

from struct import Struct, error
from typing import NamedTuple

from penstock.model.limits import TAGGED_FIELDS_MAX
from penstock.protocol.kafka.apis import API_VERSIONS, Api
from penstock.protocol.kafka.primitives import INT32, Buffer, MalformedRequest, skip_tagged_fields

_FIXED = Struct(">hhih")


class RequestHeader(NamedTuple):
    api_key: int
    version: int
    correlation_id: int
    client_id: str | None
    client_id_end: int  # where tagged fields (flexible versions) or the body start


def read_request_header(frame: Buffer) -> RequestHeader:
    """The part of the header that every version has."""
    try:
        api_key, version, correlation_id, length = _FIXED.unpack_from(frame)
    except error:
        raise MalformedRequest(f"a request of {len(frame)} bytes is too short for a header") from None
    if length < 0:
        return RequestHeader(api_key, version, correlation_id, None, _FIXED.size)
    end = _FIXED.size + length
    if end > len(frame):
        raise MalformedRequest("the client id points outside the request")
    try:
        client_id = str(frame[_FIXED.size : end], "utf-8")
    except UnicodeDecodeError:
        raise MalformedRequest("the client id is not UTF-8") from None
    return RequestHeader(api_key, version, correlation_id, client_id, end)


def body_start(frame: Buffer, header: RequestHeader, api: Api) -> int:
    """Where the body begins: after the tagged fields of a flexible header."""
    if header.version < api.flexible:
        return header.client_id_end
    try:
        return skip_tagged_fields(frame, header.client_id_end, [TAGGED_FIELDS_MAX])
    except IndexError:
        raise MalformedRequest("the header ends inside its tagged fields") from None


def response_header(correlation_id: int, api: Api, version: int) -> bytes:
    flexible = version >= api.flexible and api.key != API_VERSIONS
    return INT32.pack(correlation_id) + (b"\0" if flexible else b"")
