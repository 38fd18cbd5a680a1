"""The worker process that looks at records on behalf of clients, so that the event loop goes on meanwhile.

It is not the one of compaction, whose tasks take seconds: here a client waits for an answer. Tasks are short, except
for batches that a client makes long on purpose, and then only requests that need this process wait. Started on first
use; if it dies in the middle of a task, that request is answered with an error that clients try again after, and the
next task starts another process.

Look-ups by time run in threads of their own, not in those that reads from disk use.

Owners of tasks, principals as a rule, take turns (`task_line`), and a request with many batches is many tasks. An owner
has at most half of the bytes that may wait. So a client that makes its tasks long on purpose keeps others waiting for
one or two of them and no more.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, TypeVar

from penstock.broker.records.checks import CheckResult, RecordCheck, check_batches
from penstock.broker.records.task_line import TaskLine
from penstock.model.batch import BatchHeader, Buffer
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.limits import DECOMPRESSED_BYTES_MAX, UNCHECKED_BYTES_MAX, UNCHECKED_MS_MAX
from penstock.runtime.fair_threads import FairThreads
from penstock.runtime.worker import ProcessWorker, Worker
from penstock.storage.interface import Scan

T = TypeVar("T")

# Records that a thread searches for a time by itself: half a millisecond in which the loop may have to wait.
SCANNED_IN_THREAD_MAX: Final = 1_000
_LOOK_UP_THREADS: Final = 4
# The loop comes first where both want the same processor, but here a client waits, too.
_NICENESS: Final = 5
# Batches that are handed over together. The process may return after the first ones (`check_batches`); then the others
# are handed over once more.
_BATCHES_AT_ONCE: Final = 50
_BYTES_AT_ONCE: Final = 1 << 20


class RecordWorker:
    """Tasks of requests in another process."""

    def __init__(self, worker: Worker | None = None, *, unpacked_bytes_max: int = DECOMPRESSED_BYTES_MAX) -> None:
        self._tasks = TaskLine(worker or ProcessWorker(niceness=_NICENESS))
        self._unpacked_bytes_max = unpacked_bytes_max
        self._threads = FairThreads(_LOOK_UP_THREADS, "penstock-look-up")
        self._held_bytes: Counter[str] = Counter()  # by owner

    def close(self) -> None:
        """Stop the process; requests that still wait get an error."""
        self._tasks.close()
        self._threads.close()

    async def check(
        self, checks: Sequence[RecordCheck], owner: str, timeout_ms: int = UNCHECKED_MS_MAX
    ) -> list[CheckResult]:
        """Check batches in the worker, a few at a time and in turns with other owners.

        Those without a result, also because the time is over, get REQUEST_TIMED_OUT, which makes clients retry.
        """
        results: list[CheckResult] = []
        try:
            with self._held(owner, sum(len(check.batch) for check in checks)):
                async with asyncio.timeout(min(timeout_ms, UNCHECKED_MS_MAX) / 1000):
                    while len(results) < len(checks):
                        results += await self._tasks.run(owner, check_batches, _portion(checks, len(results)))
        except TimeoutError:
            late = KafkaError(ErrorCode.REQUEST_TIMED_OUT, "the records could not be checked in time")
            return results + [late] * (len(checks) - len(results))
        except KafkaError as error:
            return results + [error] * (len(checks) - len(results))
        return results

    async def run(self, size: int, function: Callable[..., T], *args: Any, owner: str) -> T:
        """A function that can be imported, with arguments of about `size` bytes.

        KafkaError REQUEST_TIMED_OUT if there is no result, or what the function raises if it is a KafkaError.
        """
        with self._held(owner, size):
            return await self._tasks.run(owner, function, *args)

    @contextmanager
    def _held(self, owner: str, size: int) -> Iterator[None]:
        """Count bytes that wait. Those of a request that has gone may be in the process for a moment longer."""
        held, own = self._held_bytes.total(), self._held_bytes[owner]
        if (held and held + size > UNCHECKED_BYTES_MAX) or (own and own + size > UNCHECKED_BYTES_MAX // 2):
            raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, "too many batches wait to be checked")
        self._held_bytes[owner] += size
        try:
            yield
        finally:
            self._held_bytes[owner] -= size
            if self._held_bytes[owner] <= 0:
                del self._held_bytes[owner]

    async def look_up(self, search: Callable[[Scan], T], owner: str) -> T:
        """Run a search through a log in a thread; it hands large or compressed batches on to the worker."""
        scan = partial(self._scan, asyncio.get_running_loop(), owner)
        return await self._threads.run(owner, search, scan)

    def _scan(
        self,
        loop: asyncio.AbstractEventLoop,
        owner: str,
        function: Callable[..., T],
        batch: Buffer,
        header: BatchHeader,
        *args: int,
    ) -> T:
        if header.codec == 0 and header.record_count <= SCANNED_IN_THREAD_MAX:
            return function(batch, header, *args, limit=self._unpacked_bytes_max)
        task = (function, memoryview(batch), header, args, self._unpacked_bytes_max)
        found: T = self._tasks.run_in_thread(loop, owner, _scan_task, *task)
        return found


def _portion(checks: Sequence[RecordCheck], first: int) -> Sequence[RecordCheck]:
    """The batches to be handed over from `first` on, at least one."""
    end, size = first, 0
    for check in checks[first : first + _BATCHES_AT_ONCE]:
        size += len(check.batch)
        if size > _BYTES_AT_ONCE and end > first:
            break
        end += 1
    return checks[first:end]


def _scan_task(
    function: Callable[..., T], batch: Buffer, header: BatchHeader, args: Sequence[int], unpacked_bytes_max: int
) -> T:
    return function(batch, header, *args, limit=unpacked_bytes_max)
