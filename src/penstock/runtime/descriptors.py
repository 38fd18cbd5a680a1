"""The limit on open files: raised as far as the system allows, and compared with the needs of the settings.

Many systems start a process with a soft limit of 1,024 under a hard one that is far higher.
"""

from __future__ import annotations

import errno
import fcntl
import os
import resource
from pathlib import Path
from typing import Final, NamedTuple

SPARE: Final = 100  # databases, the worker's pipes, connections to others, standard streams
SHARE_MIN: Final = 16
"""No use of descriptors gets fewer than this; with so few in all, the process will fail in other ways."""
_OPEN: Final = Path("/proc/self/fd")


class Shares(NamedTuple):
    """The descriptors for connections and for files; `limit` is the system's."""

    limit: int
    connections: int
    files: int


def share_descriptors(connections: int, files: int) -> Shares:
    """Raise the limit as far as needed and allowed, and divide it: where it is too low, files have up to a half.

    Connections never take what storage needs: it would fail to open segments, and clients would be told so.
    """
    limit = raise_limit(connections + files + SPARE)
    make_room(limit)
    return divided(limit, connections, files)


def divided(limit: int, connections: int, files: int) -> Shares:
    free = limit - SPARE
    if connections + files <= free:
        return Shares(limit, connections, files)
    of_files = max(SHARE_MIN, min(files, max(free // 2, free - connections)))
    return Shares(limit, max(SHARE_MIN, min(connections, free - of_files)), of_files)


def left() -> int | None:
    """Descriptors that can still be opened; None where the system does not tell (Linux before 6.2)."""
    try:
        used = _OPEN.stat().st_size
    except OSError:
        return None
    return max(0, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - used) if used else None


def lacks_descriptors(error: BaseException | None) -> bool:
    """Whether the process or the system had no descriptor left: nothing was opened, and a later try may succeed."""
    return isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE)


def raise_limit(wanted: int) -> int:
    """Raise the soft limit to `wanted` if the hard one allows; returns the limit in force."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return wanted
    target = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard))
    return target


def make_room(count: int) -> None:
    """Have the system's table of descriptors made for so many at once; it never shrinks.

    Otherwise the system doubles it whenever it is full, and in a process with threads it then waits until every core
    has let go of the old one: 10 to 40 ms in an accept or open that holds the event loop.
    """
    low = os.open(os.devnull, os.O_RDONLY)
    try:
        os.close(fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, count - 1))
    except OSError:
        pass  # the limit is lower, or so many are open: the table grows as it did
    finally:
        os.close(low)
