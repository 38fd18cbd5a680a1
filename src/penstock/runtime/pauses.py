"""Named places where a test can make the process stand still, to kill it exactly there.

`PENSTOCK_PAUSE_AT=<name>` in the environment makes the process stop itself (SIGSTOP) when it first reaches that place;
a test sees that the process has stopped, and kills it or lets it continue (SIGCONT). The names are those of the windows
in the end of a transaction:

    prepared    the prepare record is flushed, no marker is written yet
    marker      some markers are written, others are not
    marked      all markers are flushed, the complete record is not written yet

and those in the consumer application:

    edge-stored      messages are on disk, and not acknowledged
    edge-created     the generation of a refresh exists, and no state names it
    edge-begun       the state names it; it is empty
    edge-filled      it is complete, and READY is not sent
    edge-ready       the broker has accepted READY, and the old one is read
    edge-switched    it is read, and the old one is still there
    edge-removed     the old one is gone

It is not a setting: only tests set it. Without it a call costs a comparison.
"""

from __future__ import annotations

import os
import signal
from typing import Final

VARIABLE: Final = "PENSTOCK_PAUSE_AT"
PAUSES: Final = ("prepared", "marker", "marked")
EDGE_REFRESH_PAUSES: Final = (
    "edge-created",
    "edge-begun",
    "edge-filled",
    "edge-ready",
    "edge-switched",
    "edge-removed",
)

_wanted: str | None = os.environ.get(VARIABLE)


def pause_at(name: str) -> None:
    """Stop the process here, once, if the environment named this place when the process started."""
    global _wanted
    if _wanted is None or _wanted != name:
        return
    _wanted = None
    os.kill(os.getpid(), signal.SIGSTOP)
