"""Messages that say when they were sent, so that whoever gets them in another process knows how long that took."""

from __future__ import annotations

import struct
import time
from typing import Final

BODY_BYTES: Final = 100
_SENT = struct.Struct(">q")
_PADDING: Final = b"." * (BODY_BYTES - _SENT.size)


def body() -> bytes:
    """The clock is the machine's, the same in all processes."""
    return _SENT.pack(time.monotonic_ns()) + _PADDING


def age_ms(content: bytes) -> float:
    return (time.monotonic_ns() - int(_SENT.unpack_from(content)[0])) / 1e6
