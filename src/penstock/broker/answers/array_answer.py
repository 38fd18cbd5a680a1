"""The frame that many responses share: throttle time, what comes before the array, the array, tagged fields.

An answer over thousands of elements is encoded element by element, with turns for other requests in between; this
puts the encoded elements together.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.broker.call import Call
from penstock.protocol.kafka.apis import APIS
from penstock.protocol.kafka.primitives import INT32, write_count


def is_flexible(call: Call) -> bool:
    return call.version >= APIS[call.api_key].flexible


def array_answer(call: Call, elements: Sequence[bytes], *, before: bytes = b"") -> bytes:
    flexible = is_flexible(call)
    pieces = [INT32.pack(0), before, write_count(len(elements), flexible), *elements]
    pieces.append(b"\0" if flexible else b"")
    return b"".join(pieces)
