"""The worker process that looks at records on behalf of clients, so that the event loop goes on meanwhile.

It is not the one of compaction, whose tasks take seconds: here a client waits for an answer. Tasks are short, except
for those that a client makes long on purpose, and then only requests that need this process wait. Started on first
use; if it dies in the middle of a task, that request is answered with an error that clients try again after, and the
next task starts another process.

Look-ups by time run in threads of their own, not in those that reads from disk use.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Any, Final, TypeVar

from penstock.broker.records.checks import CheckResult, RecordCheck, check_batches
from penstock.model.batch import BatchHeader, Buffer
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.limits import DECOMPRESSED_BYTES_MAX, UNCHECKED_BYTES_MAX
from penstock.runtime.worker import ProcessWorker, Worker
from penstock.storage.interface import Scan

logger = logging.getLogger(__name__)

T = TypeVar("T")

# Records that a thread searches for a time by itself: half a millisecond in which the loop may have to wait.
SCANNED_IN_THREAD_MAX: Final = 1_000
_LOOK_UP_THREADS: Final = 4
# The loop comes first where both want the same processor, but here a client waits, too.
_NICENESS: Final = 5
_STOPPING: Final = "the node stops"


class RecordWorker:
    """Tasks of requests in another process."""

    def __init__(self, worker: Worker | None = None, *, unpacked_bytes_max: int = DECOMPRESSED_BYTES_MAX) -> None:
        self._worker = worker or ProcessWorker(niceness=_NICENESS)
        self._unpacked_bytes_max = unpacked_bytes_max
        self._threads = ThreadPoolExecutor(_LOOK_UP_THREADS, "penstock-look-up")
        self._lock = Lock()
        self._held_bytes = 0
        self._results: set[Future[Any]] = set()
        self._closed = False

    def close(self) -> None:
        """Stop the process; requests that still wait get an error."""
        with self._lock:
            self._closed = True
        self._worker.close()
        for result in tuple(self._results):
            self._settle(result, 0, None, KafkaError(ErrorCode.REQUEST_TIMED_OUT, _STOPPING))
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def check(self, checks: Sequence[RecordCheck]) -> list[CheckResult]:
        """Check batches in the worker.

        KafkaError REQUEST_TIMED_OUT, which makes clients retry, if there is no result.
        """
        return await self.run(sum(len(check.batch) for check in checks), check_batches, checks)

    async def run(self, size: int, function: Callable[..., T], *args: Any) -> T:
        """A function that can be imported, with arguments of about `size` bytes. Raises as `check` does, and what the
        function raises if it is a KafkaError."""
        if self._held_bytes and self._held_bytes + size > UNCHECKED_BYTES_MAX:
            raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, "too many batches wait to be checked")
        result: T = await asyncio.wrap_future(self._submit(size, function, *args))
        return result

    async def look_up(self, search: Callable[[Scan], T]) -> T:
        """Run a search through a log in a thread; it hands large or compressed batches on to the worker."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, search, self._scan)

    def _scan(self, function: Callable[..., T], batch: Buffer, header: BatchHeader, *args: int) -> T:
        if header.codec == 0 and header.record_count <= SCANNED_IN_THREAD_MAX:
            return function(batch, header, *args, limit=self._unpacked_bytes_max)
        task = (function, memoryview(batch), header, args, self._unpacked_bytes_max)
        result: Future[T] = self._submit(0, _scan_task, *task)
        return result.result()

    def _submit(self, size: int, function: Callable[..., Any], *args: Any) -> Future[Any]:
        """`size`: bytes that the arguments hold in memory until the task is done, even if its request is gone."""
        result: Future[Any] = Future()
        with self._lock:
            if self._closed:
                raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, _STOPPING)
            self._held_bytes += size
            self._results.add(result)
            self._worker.submit(lambda value, error: self._settle(result, size, value, error), function, *args)
        return result

    def _settle(self, result: Future[Any], size: int, value: Any, error: BaseException | None) -> None:
        with self._lock:
            self._held_bytes -= size
            self._results.discard(result)
        if not result.set_running_or_notify_cancel():
            return  # the client has gone
        if error is None:
            result.set_result(value)
        elif isinstance(error, KafkaError):
            result.set_exception(error)
        else:
            logger.warning("looking at records failed: %r", error)
            result.set_exception(KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"records could not be checked: {error}"))


def _scan_task(
    function: Callable[..., T], batch: Buffer, header: BatchHeader, args: Sequence[int], unpacked_bytes_max: int
) -> T:
    return function(batch, header, *args, limit=unpacked_bytes_max)
