"""The throttle time of an answer, written into its bytes.

Handlers answer with a throttle time of 0. The real one is known when the answer is complete, and is written into its
bytes here, so that one place does it for every API and version. Nearly all begin with it; some versions have none.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import cast

from penstock.net.reply import SILENCE, Buffers
from penstock.protocol.kafka.apis import API_VERSIONS, APIS, OFFSET_DELETE, PRODUCE
from penstock.protocol.kafka.messages import response_schema
from penstock.protocol.kafka.primitives import INT32, Buffer, read_count

_API_ROW_BYTES = 6  # key, oldest and newest version; flexible versions end a row with the count of tagged fields


def stamped(api_key: int, version: int, body: Buffers, throttle_ms: int) -> Buffers:
    """The answer with its throttle time; unchanged if its version has no such field."""
    if not throttle_ms or body is SILENCE or not has_throttle_time(api_key, version):
        return body
    first = bytearray(cast(Buffer, body[0]))  # every answer begins with bytes of ours
    position = _position(api_key, version, first)
    first[position : position + 4] = INT32.pack(throttle_ms)
    return [first, *body[1:]]


@functools.cache
def has_throttle_time(api_key: int, version: int) -> bool:
    return any(field.name == "throttle_time" for field in dataclasses.fields(response_schema(api_key, version)))


def _position(api_key: int, version: int, body: bytearray) -> int:
    flexible = version >= APIS[api_key].flexible
    if api_key == PRODUCE:
        return len(body) - (5 if flexible else 4)
    if api_key == OFFSET_DELETE:
        return 2
    if api_key == API_VERSIONS:
        count, position = read_count(memoryview(body), 2, flexible)
        return position + count * (_API_ROW_BYTES + flexible)
    return 0
