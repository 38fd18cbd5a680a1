"""The buffer into which all connections of a listener receive; its content is gone after the call that serves it."""

from __future__ import annotations

import mmap

SCRATCH_BYTES = 256 * 1024


def make_scratch() -> memoryview:
    """A buffer at the beginning of a page.

    Some processors (AMD's Zen) copy several times slower to an address a few bytes further into its page than the one
    they copy from, and the kernel keeps what it has received from the beginning of a page on. Where a bytearray begins
    is left to chance.
    """
    return memoryview(mmap.mmap(-1, SCRATCH_BYTES))


def kept(part: memoryview) -> memoryview:
    """A part of a frame for use after the call that serves it: copied, unless it is larger than the shared buffer."""
    return part if len(part) > SCRATCH_BYTES else memoryview(bytearray(part))
