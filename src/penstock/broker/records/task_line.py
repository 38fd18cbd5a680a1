"""The line in front of the record worker's process, in which owners take turns.

A task is one that the process is done with soon: what takes longer is several tasks, each of which waits in the line
for itself. Threads that look through logs stand in the same line.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from threading import Lock
from typing import Any, Final, TypeVar

from penstock.model.errors import ErrorCode, KafkaError
from penstock.runtime.background import Background
from penstock.runtime.fair_line import FairLine
from penstock.runtime.fair_threads import call_on
from penstock.runtime.worker import Worker

logger = logging.getLogger(__name__)

T = TypeVar("T")

# One that runs, and one behind it, so that the process does not wait for the next.
_TASKS: Final = 2
_STOPPING: Final = "the node stops"


class TaskLine:
    """Tasks for a worker process. KafkaError REQUEST_TIMED_OUT, after which clients try again, if there is no result;
    what a task raises itself if it is a KafkaError.
    """

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._line = FairLine(_TASKS)
        self._lock = Lock()
        self._results: dict[Future[Any], Callable[[], None] | None] = {}
        self._background = Background()
        self._closed = False

    def close(self) -> None:
        """Stop the process; whoever still waits gets an error."""
        with self._lock:
            self._closed = True
        self._worker.close()
        for result in tuple(self._results):
            self._settle(result, None, KafkaError(ErrorCode.REQUEST_TIMED_OUT, _STOPPING))

    async def run(self, owner: str, function: Callable[..., T], *args: Any) -> T:
        """The result of a function that can be imported. It keeps its place until it ends, even if nobody waits for it
        any more.
        """
        await self._line.enter(owner)
        loop = asyncio.get_running_loop()
        try:
            result = self._open(lambda: call_on(loop, self._line.leave))
        except KafkaError:
            self._line.leave()
            raise
        self._worker.submit(lambda value, error: self._settle(result, value, error), function, *args)
        outcome: T = await asyncio.wrap_future(result)
        return outcome

    def run_in_thread(self, loop: asyncio.AbstractEventLoop, owner: str, function: Callable[..., T], *args: Any) -> T:
        """The same for a thread that is not the loop's; it waits."""
        result: Future[T] = self._open(None)
        call_on(loop, lambda: self._background.start(self._pass_on(result, owner, function, args)))
        return result.result()

    async def _pass_on(self, result: Future[T], owner: str, function: Callable[..., T], args: Sequence[Any]) -> None:
        try:
            value = await self.run(owner, function, *args)
        except KafkaError as error:
            self._settle(result, None, error)
        else:
            self._settle(result, value, None)

    def _open(self, done: Callable[[], None] | None) -> Future[Any]:
        """A result that is to come. `done` is called when it has, in any thread."""
        result: Future[Any] = Future()
        with self._lock:
            if self._closed:
                raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, _STOPPING)
            self._results[result] = done
        return result

    def _settle(self, result: Future[Any], value: Any, error: BaseException | None) -> None:
        with self._lock:
            if result not in self._results:
                return  # it was closed meanwhile
            done = self._results.pop(result)
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
