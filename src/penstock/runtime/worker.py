"""One process beside the broker for Python that would stall the event loop: recovery, compaction, scrubbing.

    broker ── thread "penstock-worker" ── pipe: pickled (function, arguments) ──→ worker process, niceness 10
                                       ←── pipe: pickled (result, error) ───────

Started on first use, one task at a time, in order. It ends with its parent even if that is killed (the kernel sends it
SIGKILL), and is started again after a task that killed it. A plain `python -c` and not `multiprocessing`: nothing of
the parent's main module is imported again. Tasks are functions that can be imported, with arguments that can be
pickled; they know nothing of the parent's memory.
"""

from __future__ import annotations

import ctypes
import logging
import os
import pickle
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, BinaryIO, Protocol

_log = logging.getLogger(__name__)

_LENGTH = struct.Struct("<Q")
_NICENESS = 10
_PR_SET_PDEATHSIG = 1
_PROGRAM = "from penstock.runtime.worker import serve_tasks; serve_tasks()"

Done = Callable[[Any, BaseException | None], None]
"""Called with the result, or with what went wrong."""


class WorkerDied(Exception):
    """The worker process ended in the middle of a task."""


class Worker(Protocol):
    def submit(self, done: Done, function: Callable[..., Any], *args: Any) -> None:
        """Run `function(*args)` elsewhere; `done` is called in some thread."""
        ...

    def close(self) -> None:
        """Give up what is running and what waits; `done` of those is not called any more."""
        ...


class ProcessWorker:
    """The worker of a real node."""

    def __init__(self) -> None:
        self._tasks: SimpleQueue[tuple[Done, bytes] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    def submit(self, done: Done, function: Callable[..., Any], *args: Any) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="penstock-worker", daemon=True)
            self._thread.start()
        self._tasks.put((done, pickle.dumps((function, args))))

    def close(self) -> None:
        self._closed = True
        process = self._process
        if process is not None:
            process.kill()
        if self._thread is not None:
            self._tasks.put(None)
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        while (task := self._tasks.get()) is not None and not self._closed:
            done, message = task
            result, error = self._perform(message)
            if not self._closed:
                try:
                    done(result, error)
                except Exception:
                    _log.exception("after a task of the worker process")
        self._end_process()

    def _perform(self, message: bytes) -> tuple[Any, BaseException | None]:
        try:
            process = self._running_process()
            assert process.stdin is not None
            assert process.stdout is not None
            _send(process.stdin, message)
            answer = _receive(process.stdout)
        except OSError as broken:
            answer = None
            _log.warning("worker process: %s", broken)
        if answer is None:
            self._end_process()
            return None, WorkerDied("the worker process ended in the middle of a task")
        result, error = pickle.loads(answer)
        return result, error

    def _running_process(self) -> subprocess.Popen[bytes]:
        """In this thread and no other: the parent-death signal goes by the thread that made the child."""
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        return self._process

    def _end_process(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    stream.close()


class ThreadWorker:
    """One thread for calls that wait for the disk and release the interpreter while they do. No Python at length."""

    def __init__(self, name: str) -> None:
        self._tasks: SimpleQueue[tuple[Done, Callable[..., Any], tuple[Any, ...]] | None] = SimpleQueue()
        self._name = name
        self._thread: threading.Thread | None = None

    def submit(self, done: Done, function: Callable[..., Any], *args: Any) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()
        self._tasks.put((done, function, args))

    def close(self) -> None:
        """Waits for what was submitted: unlike a process, a thread cannot be ended from outside."""
        if self._thread is not None:
            self._tasks.put(None)
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        while (task := self._tasks.get()) is not None:
            done, function, args = task
            outcome: tuple[Any, BaseException | None]
            try:
                outcome = function(*args), None
            except Exception as error:
                outcome = None, error
            try:
                done(*outcome)
            except Exception:
                _log.exception("after a task of the thread %s", self._name)


def serve_tasks() -> None:
    """The worker process: tasks from standard input, answers to standard output, until either is closed."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the broker, which ends us when it has stopped
    os.nice(_NICENESS)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a task prints must not mix with answers
    requests = os.fdopen(os.dup(0), "rb")
    while (message := _receive(requests)) is not None:
        _send(answers, _perform(message))


def _perform(message: bytes) -> bytes:
    try:
        function, args = pickle.loads(message)
        return pickle.dumps((function(*args), None))
    except Exception as error:
        try:
            return pickle.dumps((None, error))
        except Exception:  # an error that cannot be pickled still has a text
            return pickle.dumps((None, RuntimeError(repr(error))))


def _send(stream: BinaryIO | Any, message: bytes) -> None:
    stream.write(_LENGTH.pack(len(message)))
    stream.write(message)
    stream.flush()


def _receive(stream: BinaryIO | Any) -> bytes | None:
    """One message; None at the end."""
    prefix = stream.read(_LENGTH.size)
    if len(prefix) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(prefix)
    message: bytes = stream.read(length)
    return message if len(message) == length else None
