"""The limit on open files: raised as far as the system allows, and compared with the needs of the settings.

Many systems start a process with a soft limit of 1,024 under a hard one that is far higher.
"""

from __future__ import annotations

import resource

SPARE = 100  # databases, the web server, the worker's pipes, standard streams


def raise_limit(wanted: int) -> int:
    """Raise the soft limit to `wanted` if the hard one allows; returns the limit in force."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return wanted
    target = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard))
    return target
