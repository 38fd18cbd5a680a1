"""What other clients notice of a request that takes long: `nobody_waits` while it is served.

The time of the broker on a processor counts, not that of a clock: a busy machine changes nothing.
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


def broker_seconds(broker: BrokerProcess) -> float:
    """The time that all threads of the broker have had on a processor; its workers are processes of their own."""
    tasks = Path(f"/proc/{broker.pid}/task").glob("*/schedstat")
    return sum(int(schedstat.read_text().split()[0]) for schedstat in tasks) / 1e9


@contextmanager
def nobody_waits(other: RawClient, broker: BrokerProcess, pause_max_s: float = PAUSE_MAX_S) -> Iterator[None]:
    """Another client's round trips go on meanwhile, and the broker does nothing long before it answers."""
    pauses: list[float] = []
    ended = threading.Event()

    def ask() -> None:
        while not ended.is_set():
            started = broker_seconds(broker)
            other.call("api_versions", 0)
            pauses.append(broker_seconds(broker) - started)
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
