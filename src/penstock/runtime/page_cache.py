"""The check whether a part of a file is in the page cache, so that reading it does not wait for the disk.

Linux has a call for it since 6.5 (`cachestat`), which takes some two microseconds for 8 MiB. On older systems, or where
a sandbox forbids the call, nothing counts as cached.
"""

from __future__ import annotations

import ctypes
import mmap

_CACHESTAT = 451  # the same on every architecture

_libc = ctypes.CDLL(None, use_errno=True)


class _Range(ctypes.Structure):
    _fields_ = (("offset", ctypes.c_uint64), ("length", ctypes.c_uint64))


class _Pages(ctypes.Structure):
    _fields_ = tuple(
        (name, ctypes.c_uint64) for name in ("cached", "dirty", "in_writeback", "evicted", "evicted_lately")
    )


def is_cached(fd: int, position: int, size: int) -> bool:
    """Whether every page of [position, position + size) is cached."""
    range_, pages = _Range(position, size), _Pages()
    if _libc.syscall(_CACHESTAT, fd, ctypes.byref(range_), ctypes.byref(pages), 0) != 0:
        return False
    first, last = position // mmap.PAGESIZE, (position + size - 1) // mmap.PAGESIZE
    return int(pages.cached) == last - first + 1
