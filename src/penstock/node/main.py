"""`serve`: run a node until a signal asks it to stop."""

from __future__ import annotations

import logging
import sys

import uvloop

from penstock.config.settings import Settings
from penstock.node.node import Node
from penstock.node.signals import asked_to_stop
from penstock.runtime.descriptors import SPARE, raise_limit

logger = logging.getLogger(__name__)

SWITCH_SECONDS = 0.001
"""How long a thread may compute while the event loop waits for the interpreter; Python's own 5 ms show in the lag."""


def serve(settings: Settings) -> int:
    """Serve until a signal; returns the exit code, 0 after SIGTERM or SIGINT. StartError when it cannot start."""
    _check_descriptors(settings)
    sys.setswitchinterval(SWITCH_SECONDS)
    return uvloop.run(_serve(settings))


def _check_descriptors(settings: Settings) -> None:
    needed = settings.limits.connections_max + settings.storage.open_files_max + SPARE
    limit = raise_limit(needed)
    if limit < needed:
        logger.warning(
            "the system allows %d open files, the limits of this node may need %d: raise `ulimit -Hn`, or lower"
            " limits.connections_max or storage.open_files_max",
            limit,
            needed,
        )


async def _serve(settings: Settings) -> int:
    stop = asked_to_stop()
    node = Node(settings)
    await node.start()
    try:
        await stop.wait()
    finally:
        await node.stop()
    return 0
