"""The frame that many responses share: throttle time, what comes before the array, the array, tagged fields.

An answer over thousands of elements is encoded element by element, with turns for other requests in between; this
puts the encoded elements together.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.broker.request import AnyRequest
from penstock.protocol.kafka.primitives import INT32, write_count


def array_answer(request: AnyRequest, elements: Sequence[bytes], *, before: bytes = b"") -> bytes:
    flexible = request.is_flexible
    pieces = [INT32.pack(0), before, write_count(len(elements), flexible), *elements]
    pieces.append(b"\0" if flexible else b"")
    return b"".join(pieces)
