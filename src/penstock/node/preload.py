"""Preloading of the schemas and handlers for a client's first requests, while the node is idle.

The schemas and handlers of an API load on its first use, which holds the event loop for up to 20 ms. The common ones
are loaded after the start in a thread, one after the other; imports give the interpreter away at every file they read,
but each request has to ask for it several times over. So it waits while the rest of the process has work to do.
An API that is requested before that loads on demand.
"""

from __future__ import annotations

import logging
import threading
import time

from penstock.broker.dispatcher import load_handler
from penstock.protocol.kafka.apis import APIS
from penstock.protocol.kafka.messages import load
from penstock.runtime.heap import return_freed_memory

logger = logging.getLogger(__name__)

# In the order in which clients use them; the versions of librdkafka 2.16, Java 4.3, kafka-python 3.0, aiokafka 0.14 and
# kafkajs 2.2. Each takes 30 to 100 KB.
COMMON: tuple[tuple[int, tuple[int, ...]], ...] = (
    (18, (3, 4, 0, 2)),  # ApiVersions
    (3, (13, 12, 5, 6)),  # Metadata
    (22, (4, 5, 0)),  # InitProducerId
    (2, (7, 11, 3)),  # ListOffsets
    (10, (2, 6, 1)),  # FindCoordinator
    (11, (5, 9, 7)),  # JoinGroup
    (14, (3, 5)),  # SyncGroup
    (12, (3, 4)),  # Heartbeat
    (9, (9, 8, 3, 4)),  # OffsetFetch
    (8, (9, 8, 3, 5)),  # OffsetCommit
    (13, (1, 5, 3)),  # LeaveGroup
    (19, (4, 7, 3)),  # CreateTopics
    (60, (2,)),  # DescribeCluster
    (32, (4,)),  # DescribeConfigs
)
# Between two loads, and between two looks whether the process is busy: a share of the time on a processor.
PAUSE_SECONDS = 0.02
BUSY_SHARE = 0.1
# Longest wait for an idle moment: a broker that is always busy gets clients of all kinds, too.
PATIENCE_SECONDS = 60.0


class Preloader:
    """One thread that ends by itself."""

    def __init__(self) -> None:
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="penstock-preload", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stop loading; waits for at most one load."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        started = time.perf_counter()
        for api_key, versions in COMMON:
            try:
                for version in versions:
                    if not self._rest(started + PATIENCE_SECONDS):
                        return
                    load(api_key, version)
                load_handler(APIS[api_key])
            except Exception:
                logger.exception("preloading %s", APIS[api_key].name)
        return_freed_memory()
        logger.debug("preloaded", extra={"seconds": round(time.perf_counter() - started, 2)})

    def _rest(self, until: float) -> bool:
        """Pause, and again while the rest of the process works; False if it is time to stop."""
        while True:
            others, moment = _cpu_of_others(), time.perf_counter()
            if self._stopping.wait(PAUSE_SECONDS):
                return False
            now = time.perf_counter()
            if now > until or _cpu_of_others() - others < BUSY_SHARE * (now - moment):
                return True


def _cpu_of_others() -> float:
    """Processor time of all threads but this one."""
    return time.process_time() - time.thread_time()
