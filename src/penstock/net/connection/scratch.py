"""The buffer into which all connections of a listener receive; its content is gone after the call that serves it."""

from __future__ import annotations

SCRATCH_BYTES = 256 * 1024


def kept(part: memoryview) -> memoryview:
    """A part of a frame for use after the call that serves it: copied, unless it is larger than the shared buffer."""
    return part if len(part) > SCRATCH_BYTES else memoryview(bytearray(part))
