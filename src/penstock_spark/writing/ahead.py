"""Large output on its way to the topics while tasks still compute, in the transaction that will commit it.

What a large write waits for in the end is the broker's disk. So the process beside the driver reads the files of tasks
(`stage_files`) as they grow, and sends what is in them; after the last task only the rest is left, and the commit. If a
task was run again, or anything else is not as it should be, the transaction is aborted and everything begins anew, as
if nothing had been sent.

Others wait for the end of an open transaction, so it has a few seconds. A write whose tasks take longer is sent when
they are done, and what was sent of it before is aborted; the same query tries again some batches later.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Final, Protocol

from penstock.client.cluster import Cluster
from penstock.client.connection import BrokerUnavailable
from penstock.model.errors import KafkaError
from penstock.model.topic_partition import TopicPartition
from penstock_spark.errors import DataLost
from penstock_spark.writing.exactly_once import Batches
from penstock_spark.writing.stage_files import Staged, StageDirectory
from penstock_spark.writing.task_output import TaskOutput, messaged

logger = logging.getLogger(__name__)

AFTER_S: Final = 0.05
"""Most writes are over by then."""
PAUSE_S: Final = 0.01
OPEN_S_MAX: Final = 5.0
BYTES_MAX: Final = 512 << 20
"""What would be stored twice if it were in vain."""


class Transaction(Protocol):
    """One that has not begun yet."""

    @property
    def cluster(self) -> Cluster:
        """Once it is open."""
        ...

    def open(self) -> bool:
        """Make ready to send. False if there is nothing to send, because it was written before."""
        ...

    def send(self, batches: Batches) -> None: ...
    def commit(self) -> bool:
        """False if it may be done again, and has to be."""
        ...

    def leave(self) -> None:
        """End it without effect."""
        ...


class Ahead:
    """The output of one write. Its own thread sends, until the thread of the commit takes over.

    A query that is stopped while it commits ends the write from another thread: that one waits until the commit has
    noticed, between two batches, or is over.
    """

    def __init__(self, directory: StageDirectory, transaction: Transaction) -> None:
        self.gave_up = False
        """Whether the tasks took too long."""
        self._directory, self._transaction = directory, transaction
        self._files: dict[str, Staged] = {}
        self._bytes = 0
        self._opened_s: float | None = None
        self._over = threading.Event()
        self._is_dropped = False
        self._ending = threading.RLock()  # held by whoever sends the rest, commits, or leaves
        self._thread = threading.Thread(target=self._run, name="ahead", daemon=True)
        self._thread.start()

    @property
    def cluster(self) -> Cluster:
        return self._transaction.cluster

    # --- while tasks compute -----------------------------------------------------------------------------------------

    def _run(self) -> None:
        if self._over.wait(AFTER_S):
            return
        try:
            while not self._over.is_set() and not self.gave_up:
                if not self._send_some():
                    self._over.wait(PAUSE_S)
                self._watch_the_time()
        except Exception as error:  # whatever it is: the commit begins anew, and tells
            logger.info("a write begins again with its commit: %s", error)
            self._leave()

    def _send_some(self) -> bool:
        """Send the next batch of each file. False if there is none."""
        if self._bytes > BYTES_MAX:
            return False
        with os.scandir(self._directory.path) as found:
            for entry in found:
                if entry.path not in self._files:
                    self._files[entry.path] = Staged(entry.path)
        placed = [each for each in (file.next() for file in self._files.values()) if each is not None]
        if not placed:
            return False
        if self._opened_s is None:
            if not self._transaction.open():
                self._over.set()
                return False
            self._opened_s = time.monotonic()
        self._transaction.send(placed)
        self._bytes += sum(len(batch) for _, batch in placed)
        return True

    def _watch_the_time(self) -> None:
        if self._opened_s is not None and time.monotonic() - self._opened_s > OPEN_S_MAX:
            self.gave_up = True
            self._leave()

    # --- when they are done ------------------------------------------------------------------------------------------

    def is_under_way(self) -> bool:
        """Whether something has been sent, and only the rest is to follow. Nothing is sent any more by itself."""
        self._over.set()
        self._thread.join()
        return self._opened_s is not None

    def finish(self, outputs: Sequence[TaskOutput], others: Callable[[Cluster], list[TaskOutput]]) -> bool:
        """Send the rest, with other outputs, and commit. False if all of it has to be done from the start.

        DataLost if it was dropped meanwhile.
        """
        files = {output.file for output in outputs}
        with self._ending:
            try:
                self._check_wanted()
                if any(file.at and path not in files for path, file in self._files.items()):
                    logger.info("a task was run again: its write begins again, too")
                    return False
                for output in (*outputs, *others(self.cluster)):
                    self._send_rest(output)
                self._opened_s = None
                return self._transaction.commit()
            except (BrokerUnavailable, KafkaError) as error:
                if self._opened_s is None:
                    raise
                logger.info("a write begins again: %s", error)
                return False
            finally:
                self.drop()

    def _send_rest(self, output: TaskOutput) -> None:
        self._transaction.send(self._wanted(messaged(self.cluster, output)))
        if output.file is not None:
            file = self._files.get(output.file) or self._files.setdefault(output.file, Staged(output.file))
            self._transaction.send(self._wanted(file.up_to(output.file_size)))
        self._check_wanted()

    def _wanted(self, batches: Batches) -> Iterator[tuple[TopicPartition, bytearray]]:
        """The batches, as long as nobody has dropped the write."""
        for each in batches:
            self._check_wanted()
            yield each

    def _check_wanted(self) -> None:
        if self._is_dropped:
            raise DataLost("the query was stopped while it committed this batch; the batch runs again")

    def drop(self) -> None:
        """End whatever is not committed. Any thread."""
        self._is_dropped = True
        self.is_under_way()
        with self._ending:
            self._leave()

    def _leave(self) -> None:
        for file in self._files.values():
            file.close()
        self._files.clear()
        if self._opened_s is not None:
            self._opened_s = None
            with suppress(BrokerUnavailable, KafkaError, OSError):  # it ends by itself then
                self._transaction.leave()


def committed_ahead(
    ahead: Ahead | None, outputs: Sequence[TaskOutput], others: Callable[[Cluster], list[TaskOutput]]
) -> bool:
    """Commit what is under way, with the outputs of tasks and other ones. False if all of it is still to be written."""
    if ahead is None or not ahead.is_under_way():
        return False
    return ahead.finish(outputs, others)
