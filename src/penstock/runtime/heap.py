"""The C library's heap: how much freed memory a node keeps for the next request, and how it returns the rest.

As it comes, glibc gives the end of the heap back to the system with nearly every large frame that is freed. The next
one has its pages mapped and cleared again, 2 ms of the event loop for a frame of 900 KB. Some megabytes that are kept
are used again and again. Another C library is left as it is.
"""

from __future__ import annotations

import ctypes
from typing import Final

KEPT_BYTES: Final = 16 << 20
"""Freed memory at the end of the heap that stays."""
FROM_HEAP_BYTES_MAX: Final = 4 << 20
"""Larger pieces are taken from the system one by one, and given back."""
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of <malloc.h>


def keep_freed_memory(kept_bytes: int = KEPT_BYTES, from_heap_bytes_max: int = FROM_HEAP_BYTES_MAX) -> None:
    options = getattr(ctypes.CDLL(None), "mallopt", None)
    if options is not None:
        options(_TRIM_THRESHOLD, kept_bytes)
        options(_MMAP_THRESHOLD, from_heap_bytes_max)


def return_freed_memory() -> None:
    """Give everything back that is free, as it is after many imports."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
