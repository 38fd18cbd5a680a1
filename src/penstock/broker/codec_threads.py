"""Threads that decode large requests and encode large answers: their own, so that nothing else has to wait for them.

The largest take seconds, and a client may send many. They have a thread for themselves, one after the other: more would
share the same interpreter, and take more of it from the loop. Others pass them by in threads of theirs. All that waits
for a disk, a password or a schema is in the threads of the loop. Owners of requests, principals, take turns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from penstock.model.limits import REQUEST_BYTES_DECODED_SOON
from penstock.runtime.fair_threads import FairThreads

T = TypeVar("T")
_THREADS: Final = 2
_FREED_AT_ONCE: Final = 50


class CodecThreads:
    """The threads. Loop thread."""

    def __init__(self) -> None:
        self._threads = FairThreads(_THREADS, "penstock-codec")
        self._thread_of_largest = FairThreads(1, "penstock-large-codec")

    def close(self) -> None:
        for threads in (self._threads, self._thread_of_largest):
            threads.close()

    async def run(self, owner: str, size_bytes: int, function: Callable[..., T], *args: Any) -> T:
        """The result of a function that decodes a request of this size, or encodes the answer to one."""
        threads = self._thread_of_largest if size_bytes > REQUEST_BYTES_DECODED_SOON else self._threads
        return await threads.run(owner, function, *args)


def let_go(*lists: list[Any]) -> None:
    """Empty lists a little at a time, in a thread: the loop would take long to free very many elements at once."""
    for items in lists:
        while items:
            del items[-_FREED_AT_ONCE:]
