"""What other clients notice of a request that takes long: `nobody_waits` while it is served.

The time of the event loop on a processor counts, not that of a clock: a busy machine changes nothing. Threads do not
count. They decode and encode, give the interpreter back after a millisecond, and on a busy machine may get far before
the loop has its turn.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient
from tests.support.waiting import wait_until

PAUSE_MAX_S = 0.15
"""Far below what the long work takes."""


def loop_seconds(broker: BrokerProcess) -> float:
    """The time that the event loop, the main thread, has had on a processor."""
    return int(Path(f"/proc/{broker.pid}/task/{broker.pid}/schedstat").read_text().split()[0]) / 1e9


@contextmanager
def nobody_waits(other: RawClient, broker: BrokerProcess, pause_max_s: float = PAUSE_MAX_S) -> Iterator[None]:
    """Another client's round trips go on meanwhile, and the loop does nothing long before it answers."""
    pauses: list[float] = []
    ended = threading.Event()

    def ask() -> None:
        while not ended.is_set():
            started = loop_seconds(broker)
            other.call("api_versions", 0)
            pauses.append(loop_seconds(broker) - started)
            time.sleep(0.002)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        wait_until(lambda: len(pauses) > 5, what="the other client is at it")
        pauses.clear()
        yield
        wait_until(lambda: len(pauses) > 0, what="at least one round trip meanwhile")
    finally:
        ended.set()
        asking.join()
    assert max(pauses) < pause_max_s
