"""Group commit: one sync per round for every log that waits at that moment.

    loop thread    append → mark(log) ─┐                        ┌→ flush_completed, note, on_flushed per log
    flush thread                       └→ collect → sync → ─────┘   (one call onto the loop per round)

For each flushed log the engine is called first, for its own jobs (`note`), then the listener, which wakes waiters.

Marks that come during a round form the next one, which starts at once: under load the rounds grow, and a single write
waits for no other. There are three modes: `always` acknowledges after the sync; `interval` acknowledges after the write
and syncs periodically; `os` never syncs here (logs still do when they write recovery points and close).

Why a round covers what it promises: a log is marked after its bytes are written. The round takes the set of marked logs
first, and asks each for its end and its files after that, so every byte below the end was written before the sync
began. A log that is written to meanwhile is marked again and gets another round. Only the loop raises `flushed`, to the
end that was asked for before the sync, never to the end at that moment.

While the thread is idle, a round begins after one more look at the sockets, and with a large batch at once: requests
that have already arrived share the sync. If they are few and small, the loop itself makes it (`sync_cost.LoopSync`).

A failed sync is final for its log: the kernel has dropped the pages and a second sync would succeed without writing
them. When the one sync of a round fails, each file is synced by itself, which finds the log that it failed for and
clears the others. A directory that could not be opened for want of descriptors has not failed: then the one sync, which
needs none, does it.

The lock guards the set of dirty logs and the round counters; nothing is called while it is held.
"""

from __future__ import annotations

import contextlib
import enum
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import NamedTuple

from penstock.model.limits import TURN_NS
from penstock.runtime.descriptors import lacks_descriptors
from penstock.runtime.files import File, Files
from penstock.storage.flush.flushable import Flushable
from penstock.storage.flush.sync_cost import LoopSync, SyncCost
from penstock.storage.observer import EngineObserver, SilentObserver

logger = logging.getLogger(__name__)

OnFlushed = Callable[[Flushable], None]
CallSoon = Callable[..., object]
# Larger rounds are left to the thread: they would stall the loop for too long.
_LOOP_MARKS_MAX = 16
_LOOP_BYTES_MAX = 64 << 10
# With `flush: interval`, a round begins before its time with so many logs: each holds an open file until it is synced.
_INTERVAL_LOGS_MAX = 500
# A round counts for one in 2 to the power of so many.
_OF_LATE = 3


class FlushMode(enum.Enum):
    ALWAYS = "always"
    INTERVAL = "interval"
    OS = "os"


class _Waiting(NamedTuple):
    log: Flushable
    end: int
    files: Sequence[File]


@dataclass(slots=True)
class _Round:
    """The outcome of a round: an error per log, None where everything below `end` is on disk."""

    waiting: list[_Waiting]
    errors: list[OSError | None]
    seconds: float
    notified: int = 0


class GroupCommit:
    """Implements `flush.flushable.FlushQueue`. Owned by the engine."""

    def __init__(
        self,
        files: Files,
        root: Path,
        *,
        mode: FlushMode = FlushMode.ALWAYS,
        interval_ms: int = 1000,
        observer: EngineObserver | None = None,
        cost: SyncCost | None = None,
    ) -> None:
        self.syncs = mode is not FlushMode.OS
        """Whether there are flush rounds, so that everything written will be flushed."""
        self.waits_for_sync = self.wants_preallocation = mode is FlushMode.ALWAYS
        self.sync_bytes = 0
        self._files = files
        self._mode = mode
        self._interval_s = interval_ms / 1000
        self._observer = observer or SilentObserver()
        self._cost = cost or SyncCost()
        # Opened before any write and kept: errors of syncfs are reported once per open file.
        self._root = files.open_directory(root)
        self._lock = threading.Lock()
        self._dirty: dict[Flushable, None] = {}
        self._unseen: dict[Flushable, None] = {}  # interval, os: written, not yet shown
        self._rounds_begun = 0
        self._rounds_done = 0
        self._finished: deque[_Round] = deque()
        self._when_done: deque[tuple[int, Callable[[], None]]] = deque()
        self._wake: SimpleQueue[None] = SimpleQueue()
        self._wakes = self._wakes_heeded = 0  # the thread is idle while they are equal
        self._marks = self._marks_seen = self._marked_bytes = 0  # since the last round began
        self._loop_sync = LoopSync()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._note: OnFlushed | None = None
        self._on_flushed: OnFlushed | None = None
        self._call_soon: CallSoon | None = None
        self._call_next: CallSoon | None = None
        self._after_round: Callable[[], None] | None = None

    def start(
        self,
        on_flushed: OnFlushed,
        call_soon: CallSoon,
        *,
        call_next: CallSoon | None = None,
        note: OnFlushed | None = None,
        after_round: Callable[[], None] | None = None,
        in_thread: bool = True,
    ) -> None:
        """Begin rounds; without a thread they are made by calling `run_round`, without `call_next` never by the
        loop. `note` is called for each log before `on_flushed`.
        """
        self._note = note
        self._on_flushed = on_flushed
        self._call_soon = call_soon
        self._call_next = call_next
        self._after_round = after_round
        if in_thread and self._mode is not FlushMode.OS:
            self._thread = threading.Thread(target=self._run, name="penstock-flush", daemon=True)
            self._thread.start()

    def mark(self, log: Flushable, size_bytes: int = 0) -> None:
        """Note that this log has unflushed bytes. Loop thread, after the bytes are written."""
        if self._mode is not FlushMode.ALWAYS:
            self._mark_unseen(log)
            if self._mode is FlushMode.OS:
                return
        with self._lock:
            first = not self._dirty
            self._dirty[log] = None
        if self._mode is FlushMode.INTERVAL:
            if len(self._dirty) >= _INTERVAL_LOGS_MAX and self._wake.empty():
                self._wake_thread()  # which wakes up by itself otherwise
            return
        if first:
            self.sync_bytes += (self._marked_bytes - self.sync_bytes) >> _OF_LATE
            self._marks = self._marks_seen = self._marked_bytes = 0
            # A large batch is not kept waiting for others: while it is synced the loop takes in the next one.
            if self._call_next is None or size_bytes > _LOOP_BYTES_MAX or self._wakes != self._wakes_heeded:
                self._wake_thread()
            else:
                self._call_next(self._look_once_more)
        self._marks += 1
        self._marked_bytes += size_bytes

    def _mark_unseen(self, log: Flushable) -> None:
        if not self._unseen:
            call = self._call_next or self._call_soon
            if call is not None:
                call(self._show_written)
        self._unseen[log] = None

    def _wake_thread(self) -> None:
        self._wakes += 1
        self._wake.put(None)

    def _has_one_file(self) -> bool:
        """Whether a round would sync one file.

        With more it may use syncfs, which also waits for other processes' writes.
        """
        if len(self._dirty) != 1:
            return False
        (log,) = self._dirty
        return len(log.flush_targets()[1]) == 1

    def _look_once_more(self) -> None:
        """Begin the round if a look at the sockets brought nothing more, or if it has become large. Loop thread."""
        marks = self._marks
        is_small = marks <= _LOOP_MARKS_MAX and self._marked_bytes <= _LOOP_BYTES_MAX
        if is_small and marks != self._marks_seen:
            self._marks_seen = marks
            assert self._call_next is not None
            self._call_next(self._look_once_more)
            return
        now = time.perf_counter()
        rests = self._wakes == self._wakes_heeded
        if rests and is_small and self._has_one_file() and self._loop_sync.allows(now):
            self.run_round()
            after = time.perf_counter()
            self._loop_sync.took(after - now, after)
            self._finish_some()
        else:
            self._wake_thread()

    def forget(self, log: Flushable, then: Callable[[], None]) -> None:
        """Never touch this log again. `then` is called once no round holds its files. Loop thread."""
        self._unseen.pop(log, None)
        with self._lock:
            self._dirty.pop(log, None)
            busy_until = self._rounds_begun
        if busy_until == self._rounds_done:
            then()
        else:
            self._when_done.append((busy_until, then))

    def stop(self) -> None:
        """Flush all marked logs, finish every round, and end the thread. Loop thread, or after the loop has ended."""
        self._stopping.set()
        self._wake_thread()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self._show_written()
        while self.run_round():
            pass
        self.finish_rounds()
        self._root.close()

    def run_round(self) -> bool:
        """Collect, sync, report; False if no log was dirty.

        One caller at a time: the thread, or the loop in its place.
        """
        with self._lock:
            if not self._dirty:
                return False
            # Before `flush_targets`: a log that is written to after this line is marked again, for the next round. Were
            # the set emptied after the ends are read, such a mark would be lost and its batch never reported as
            # flushed.
            logs, self._dirty = list(self._dirty), {}
            self._rounds_begun += 1
        started = time.perf_counter()
        try:
            waiting = [_Waiting(log, *log.flush_targets()) for log in logs]
            errors = self._sync(waiting)
        except Exception as error:  # a bug; it must not pass for a flush, nor end the thread
            logger.exception("a flush round failed in an unforeseen way")
            waiting = [_Waiting(log, 0, ()) for log in logs]
            errors = [OSError(f"flush round: {error!r}")] * len(waiting)
        self._finished.append(_Round(waiting, errors, time.perf_counter() - started))
        return True

    def finish_rounds(self) -> None:
        """Report finished rounds to their logs and listeners. Loop thread."""
        while self._finished:
            self._finish_round(1 << 63)

    def _finish_some(self) -> None:
        """Report finished rounds for one turn, and continue in the next: a round may have thousands of logs."""
        turn_end = time.perf_counter_ns() + TURN_NS
        while self._finished:
            if not self._finish_round(turn_end):
                assert self._call_soon is not None
                self._call_soon(self._finish_some)
                break
        if self._after_round is not None:
            self._after_round()

    def _finish_round(self, turn_end: int) -> bool:
        """Report the oldest round; False if the turn ended before all of its logs were notified."""
        finished = self._finished[0]
        while finished.notified < len(finished.waiting):
            waiting, error = finished.waiting[finished.notified], finished.errors[finished.notified]
            finished.notified += 1
            try:
                self._tell(waiting, error)
            except Exception:  # an error in one log's waiters must not hold up the others
                logger.exception("after a flush")
            if time.perf_counter_ns() > turn_end:
                return False
        self._finished.popleft()
        self._rounds_done += 1
        self._count(finished)
        return True

    def _count(self, finished: _Round) -> None:
        file_count = 0
        for item in finished.waiting:
            file_count += len(item.files)
        self._observer.flush_round(finished.seconds, len(finished.waiting), file_count, any(finished.errors))
        while self._when_done and self._when_done[0][0] <= self._rounds_done:
            self._when_done.popleft()[1]()

    def _run(self) -> None:
        """The flush thread."""
        assert self._call_soon is not None
        while not self._stopping.is_set():
            with contextlib.suppress(Empty):
                self._wake.get(timeout=self._interval_s if self._mode is FlushMode.INTERVAL else None)
            made = self.run_round()
            self._wakes_heeded += 1
            if made:
                try:
                    self._call_soon(self._finish_some)
                except RuntimeError:
                    return  # the loop is closed; `stop` finishes the round

    def _sync(self, waiting: Sequence[_Waiting]) -> list[OSError | None]:
        count = 0
        for item in waiting:
            count += len(item.files)
        if self._cost.prefers_all(count):
            started = time.perf_counter()
            try:
                self._files.sync_all(self._root)
            except OSError as error:
                logger.warning("syncfs failed (%s), syncing each file to find the one that failed", error)
                # Without `_sync_unopened`: syncfs tells of an error once, and would now call everything well.
                return [_sync_each(item.files) for item in waiting]
            self._cost.took_all(time.perf_counter() - started)
            return [None] * len(waiting)
        started = time.perf_counter()
        errors = [_sync_each(item.files) for item in waiting]
        self._cost.took_each(count, time.perf_counter() - started)
        return self._sync_unopened(errors) if any(map(lacks_descriptors, errors)) else errors

    def _sync_unopened(self, errors: list[OSError | None]) -> list[OSError | None]:
        """Sync everything, for logs with a new name in a directory that could not be opened to be synced.

        No sync of theirs has failed; there was no descriptor left, and this needs none.
        """
        try:
            self._files.sync_all(self._root)
        except OSError as error:
            logger.warning("syncfs failed (%s), after there were too few descriptors to sync directories", error)
            return errors
        return [None if lacks_descriptors(error) else error for error in errors]

    def _tell(self, waiting: _Waiting, error: OSError | None) -> None:
        if error is None:
            waiting.log.flush_completed(waiting.end)
        else:
            waiting.log.flush_failed(error)
        if self._note is not None:
            self._note(waiting.log)
        if self._on_flushed is not None:
            self._on_flushed(waiting.log)

    def _show_written(self) -> None:
        unseen, self._unseen = self._unseen, {}
        for log in unseen:
            log.note_written()
            if self._mode is FlushMode.OS:
                log.let_go()
            if self._note is not None:
                self._note(log)
            if self._on_flushed is not None:
                self._on_flushed(log)
        if self._after_round is not None:
            self._after_round()


def _sync_each(files: Sequence[File]) -> OSError | None:
    try:
        for file in files:
            file.datasync()
    except OSError as error:
        return error
    return None
