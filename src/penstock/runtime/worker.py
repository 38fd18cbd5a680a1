"""A process beside the broker for Python work that would stall the event loop: recovery, compaction, decoding records.

    broker ── thread "penstock-worker" ── pipe: pickled (function, arguments) ──→ worker process, of lower priority
                                       ←── pipe: pickled (result, error) ───────

    message   count int32 | length int64 of each part | parts: the pickle, then the buffers it refers to

Started on first use, one task at a time, in order. It ends with its parent even if that is killed (the kernel sends it
SIGKILL), and is started again after a task that killed it. It is a plain `python -c` and not `multiprocessing`, which
would import the parent's main module again; with -P, or modules in the working directory would take the place of the
standard library's and of Penstock's. Tasks are functions that can be imported, with arguments that can be
pickled; they do not share the parent's memory. A memoryview or bytearray, in arguments or results, arrives as a
bytearray and is not copied on its way to the pipe.
"""

from __future__ import annotations

import ctypes
import fcntl
import io
import logging
import os
import pickle
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, Protocol

logger = logging.getLogger(__name__)

_COUNT = struct.Struct("<I")
_LENGTH = struct.Struct("<Q")
_PIPE_BYTES = 1024 * 1024  # fewer turns of the thread for a large message; the limit for unprivileged users
_PR_SET_PDEATHSIG = 1
_PROGRAM = "from penstock.runtime.worker import serve_tasks; serve_tasks({niceness})"

Message = list[bytes | bytearray | memoryview]

Done = Callable[[Any, BaseException | None], None]
"""Called with the result, or with the error."""


class WorkerDied(Exception):
    """The worker process ended in the middle of a task."""


class Worker(Protocol):
    def submit(self, done: Done, function: Callable[..., Any], *args: Any) -> None:
        """Run `function(*args)` in the worker; `done` is called in any thread."""
        ...

    def close(self) -> None:
        """Give up running and waiting tasks; their `done` is not called any more."""
        ...


class ProcessWorker:
    """The worker of a real node."""

    def __init__(self, *, niceness: int = 10) -> None:
        self._niceness = niceness
        self._tasks: SimpleQueue[tuple[Done, Message] | None] = SimpleQueue()
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
        self._tasks.put((done, _pack((function, args))))

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
                    logger.exception("after a task of the worker process")
        self._end_process()

    def _perform(self, message: Message) -> tuple[Any, BaseException | None]:
        try:
            process = self._running_process()
            assert process.stdin is not None
            assert process.stdout is not None
            _send(process.stdin, message)
            answer = _receive(process.stdout)
        except OSError as broken:
            answer = None
            logger.warning("worker process: %s", broken)
        if answer is None:
            self._end_process()
            return None, WorkerDied("the worker process ended in the middle of a task")
        result, error = _unpack(answer)
        return result, error

    def _running_process(self) -> subprocess.Popen[bytes]:
        """The process, started only in this thread: the parent-death signal is tied to the thread that starts it."""
        if self._process is None or self._process.poll() is not None:
            program = _PROGRAM.format(niceness=self._niceness)
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
            for stream in (self._process.stdin, self._process.stdout):
                with suppress(OSError):  # the system may allow less
                    fcntl.fcntl(stream or -1, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
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
    """One thread for calls that wait for the disk and release the interpreter lock; not for long Python work."""

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
        """Wait for all submitted tasks: unlike a process, a thread cannot be ended from outside."""
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
                logger.exception("after a task of the thread %s", self._name)


def serve_tasks(niceness: int) -> None:
    """The worker process: tasks from standard input, answers to standard output, until either is closed."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the broker, which ends the worker when it has stopped
    os.nice(niceness)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # the output of a task must not mix with answers
    requests = os.fdopen(os.dup(0), "rb")
    while (message := _receive(requests)) is not None:
        _send(answers, _perform(message))


def _perform(message: Message) -> Message:
    try:
        function, args = _unpack(message)
        return _pack((function(*args), None))
    except Exception as error:
        try:
            return _pack((None, error))
        except Exception:  # an error that cannot be pickled still has a text
            return _pack((None, RuntimeError(repr(error))))


class _Packer(pickle.Pickler):
    """Pickler without PickleBuffer, which crashes at garbage collection if a memoryview is part of a cycle."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, protocol=5)
        self.buffers: Message = []

    def persistent_id(self, obj: Any) -> int | None:
        if not isinstance(obj, memoryview | bytearray):
            return None
        self.buffers.append(obj)
        return len(self.buffers)


class _Unpacker(pickle.Unpickler):
    def __init__(self, message: Message) -> None:
        super().__init__(io.BytesIO(message[0]))
        self._message = message

    def persistent_load(self, pid: int) -> Any:
        return self._message[pid]


def _pack(value: Any) -> Message:
    packer = _Packer(file := io.BytesIO())
    packer.dump(value)
    return [file.getvalue(), *packer.buffers]


def _unpack(message: Message) -> Any:
    return _Unpacker(message).load()


def _send(stream: Any, message: Message) -> None:
    stream.write(_COUNT.pack(len(message)) + b"".join(_LENGTH.pack(len(part)) for part in message))
    for part in message:
        stream.write(part)
    stream.flush()


def _receive(stream: Any) -> Message | None:
    """One message; None at the end."""
    prefix = stream.read(_COUNT.size)
    if len(prefix) < _COUNT.size:
        return None
    (count,) = _COUNT.unpack(prefix)
    lengths = stream.read(count * _LENGTH.size)
    if len(lengths) < count * _LENGTH.size:
        return None
    message: Message = []
    for (length,) in _LENGTH.iter_unpack(lengths):
        part = bytearray(length)
        if stream.readinto(part) < length:
            return None
        message.append(part)
    return message
