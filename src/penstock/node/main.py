"""`serve`: run a node until a signal asks it to stop."""

from __future__ import annotations

import sys

import uvloop

from penstock.config.settings import Settings
from penstock.node.admission import with_descriptors
from penstock.node.node import Node
from penstock.node.signals import asked_to_stop, on_reload
from penstock.runtime.heap import keep_freed_memory

SWITCH_SECONDS = 0.001
"""How long a thread may compute while the event loop waits for the interpreter; Python's own 5 ms show in the lag."""


def serve(settings: Settings) -> int:
    """Serve until a signal; returns the exit code, 0 after SIGTERM or SIGINT. StartError when it cannot start."""
    sys.setswitchinterval(SWITCH_SECONDS)
    keep_freed_memory()
    return uvloop.run(_serve(with_descriptors(settings)))


async def _serve(settings: Settings) -> int:
    stop = asked_to_stop()
    node = Node(settings)
    on_reload(node.reload)
    await node.start()
    try:
        await stop.wait()
    finally:
        await node.stop()
    return 0
