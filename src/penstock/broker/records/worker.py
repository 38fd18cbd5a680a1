"""The worker process that looks at records on behalf of clients, so that the event loop goes on meanwhile.

It is not the one of compaction, whose tasks take seconds: here a client waits for an answer. Tasks are short, except
for those that a client makes long on purpose, and then only requests that need this process wait. Started on first
use; if it dies in the middle of a task, that request is answered with an error that clients try again after, and the
next task starts another process.

Look-ups by time run in threads of their own, not in those that reads from disk use.

Owners of tasks, principals as a rule, take turns (`fair_line`), and one of them has at most half of the bytes that may
wait: a client that makes its tasks long on purpose keeps others waiting for a few of them and no more.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from threading import Lock
from typing import Any, Final, TypeVar

from penstock.broker.records.checks import CheckResult, RecordCheck, check_batches
from penstock.model.batch import BatchHeader, Buffer
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.limits import DECOMPRESSED_BYTES_MAX, UNCHECKED_BYTES_MAX
from penstock.runtime.fair_line import FairLine
from penstock.runtime.fair_threads import FairThreads, call_on
from penstock.runtime.worker import ProcessWorker, Worker
from penstock.storage.interface import Scan

logger = logging.getLogger(__name__)

T = TypeVar("T")

# Records that a thread searches for a time by itself: half a millisecond in which the loop may have to wait.
SCANNED_IN_THREAD_MAX: Final = 1_000
_LOOK_UP_THREADS: Final = 4
# One that runs, and one behind it, so that the process does not wait for the next.
_TASKS: Final = 2
# The loop comes first where both want the same processor, but here a client waits, too.
_NICENESS: Final = 5
_STOPPING: Final = "the node stops"


class RecordWorker:
    """Tasks of requests in another process."""

    def __init__(self, worker: Worker | None = None, *, unpacked_bytes_max: int = DECOMPRESSED_BYTES_MAX) -> None:
        self._worker = worker or ProcessWorker(niceness=_NICENESS)
        self._unpacked_bytes_max = unpacked_bytes_max
        self._threads = FairThreads(_LOOK_UP_THREADS, "penstock-look-up")
        self._lock = Lock()
        self._held_bytes: Counter[str] = Counter()  # by owner
        self._tasks = FairLine(_TASKS)
        self._results: dict[Future[Any], Callable[[], None] | None] = {}
        self._closed = False

    def close(self) -> None:
        """Stop the process; requests that still wait get an error."""
        with self._lock:
            self._closed = True
        self._worker.close()
        for result in tuple(self._results):
            self._settle(result, None, KafkaError(ErrorCode.REQUEST_TIMED_OUT, _STOPPING))
        self._threads.close()

    async def check(self, checks: Sequence[RecordCheck], owner: str) -> list[CheckResult]:
        """Check batches in the worker.

        KafkaError REQUEST_TIMED_OUT, which makes clients retry, if there is no result.
        """
        return await self.run(sum(len(check.batch) for check in checks), check_batches, checks, owner=owner)

    async def run(self, size: int, function: Callable[..., T], *args: Any, owner: str) -> T:
        """A function that can be imported, with arguments of about `size` bytes. Raises as `check` does, and what the
        function raises if it is a KafkaError."""
        held, own = self._held_bytes.total(), self._held_bytes[owner]
        if (held and held + size > UNCHECKED_BYTES_MAX) or (own and own + size > UNCHECKED_BYTES_MAX // 2):
            raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, "too many batches wait to be checked")
        self._held_bytes[owner] += size
        try:
            await self._tasks.enter(owner)
        except asyncio.CancelledError:
            self._let_go(owner, size)
            raise
        loop = asyncio.get_running_loop()

        def done() -> None:
            """Also if the request is gone meanwhile: the task has its place and its bytes until it is done."""
            self._tasks.leave()
            self._let_go(owner, size)

        try:
            submitted = self._submit(function, *args, done=lambda: call_on(loop, done))
        except KafkaError:
            done()
            raise
        result: T = await asyncio.wrap_future(submitted)
        return result

    def _let_go(self, owner: str, size: int) -> None:
        self._held_bytes[owner] -= size
        if self._held_bytes[owner] <= 0:
            del self._held_bytes[owner]

    async def look_up(self, search: Callable[[Scan], T], owner: str) -> T:
        """Run a search through a log in a thread; it hands large or compressed batches on to the worker."""
        return await self._threads.run(owner, search, self._scan)

    def _scan(self, function: Callable[..., T], batch: Buffer, header: BatchHeader, *args: int) -> T:
        if header.codec == 0 and header.record_count <= SCANNED_IN_THREAD_MAX:
            return function(batch, header, *args, limit=self._unpacked_bytes_max)
        task = (function, memoryview(batch), header, args, self._unpacked_bytes_max)
        result: Future[T] = self._submit(_scan_task, *task)
        return result.result()

    def _submit(self, function: Callable[..., Any], *args: Any, done: Callable[[], None] | None = None) -> Future[Any]:
        """`done` is called when the worker is done with it, in any thread."""
        result: Future[Any] = Future()
        with self._lock:
            if self._closed:
                raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, _STOPPING)
            self._results[result] = done
            self._worker.submit(lambda value, error: self._settle(result, value, error), function, *args)
        return result

    def _settle(self, result: Future[Any], value: Any, error: BaseException | None) -> None:
        with self._lock:
            done = self._results.pop(result, None)
        if done is not None:
            done()
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
