"""Calling a handler: on the loop if it is a coroutine function, otherwise in a thread, many messages at a time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from penstock.client.push.message import Message
from penstock.consumers.definition import Definition
from penstock.consumers.errors import PayloadError
from penstock.consumers.metrics import HandlerProbe
from penstock.consumers.policy import ErrorAction

SLICE_S = 0.05
"""A run of calls in a thread is reported after so long, so that what is done gets acknowledged."""


class Outcome(NamedTuple):
    """The first `done` messages are done; the call for what follows failed with `error`, if there is one."""

    done: int
    error: Exception | None = None


class Caller:
    """The calls of one consumer. As many at the same time as its mark says; never two of a partition."""

    def __init__(self, definition: Definition, probe: HandlerProbe, is_stopping: Callable[[], bool]) -> None:
        self._definition = definition
        self._probe = probe
        self._is_stopping = is_stopping
        concurrency = definition.mark.concurrency
        self._turns = asyncio.Semaphore(concurrency)
        self._threads = ThreadPoolExecutor(concurrency, thread_name_prefix=f"handler-{definition.name}")

    async def call(self, messages: Sequence[Message]) -> Outcome:
        """In their order, until one fails or it is time to stop."""
        async with self._turns:
            if self._is_stopping():
                return Outcome(0)
            if self._definition.is_async:
                return await self._call_on_loop(messages)
            return await asyncio.get_running_loop().run_in_executor(self._threads, self._call_in_thread, messages)

    async def report(self, message: Message, error: Exception) -> ErrorAction:
        """What the error handler says. Without one: a dead letter."""
        definition = self._definition
        if definition.on_error is None:
            return ErrorAction.DEAD_LETTER
        arguments = (message, error)[: definition.on_error_arguments]
        async with self._turns:
            if definition.on_error_is_async:
                answer = await definition.on_error(*arguments)
            else:
                loop = asyncio.get_running_loop()
                answer = await loop.run_in_executor(self._threads, definition.on_error, *arguments)
        return answer if isinstance(answer, ErrorAction) else ErrorAction.DEAD_LETTER

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _steps(self, messages: Sequence[Message]) -> list[Sequence[Message]]:
        return [messages] if self._definition.batch is not None else [[message] for message in messages]

    def _call_in_thread(self, messages: Sequence[Message]) -> Outcome:
        done, until = 0, time.monotonic() + SLICE_S
        for step in self._steps(messages):
            started = time.monotonic()
            if done and (started >= until or self._is_stopping()):
                break
            try:
                self._definition.call(*self._definition.arguments(step))
            except Exception as error:
                return self._failed(done, error, started)
            self._succeeded(len(step), started)
            done += len(step)
        return Outcome(done)

    async def _call_on_loop(self, messages: Sequence[Message]) -> Outcome:
        done, until = 0, time.monotonic() + SLICE_S
        for step in self._steps(messages):
            started = time.monotonic()
            if done and (started >= until or self._is_stopping()):
                break
            try:
                await self._definition.call(*self._definition.arguments(step))
            except Exception as error:
                return self._failed(done, error, started)
            self._succeeded(len(step), started)
            done += len(step)
        return Outcome(done)

    def _succeeded(self, messages: int, started: float) -> None:
        probe = self._probe
        probe.calls += 1
        probe.messages += messages
        probe.duration.observe(time.monotonic() - started)

    def _failed(self, done: int, error: Exception, started: float) -> Outcome:
        self._probe.failures += 1
        if not isinstance(error, PayloadError):  # otherwise it was never called
            self._probe.calls += 1
            self._probe.duration.observe(time.monotonic() - started)
        return Outcome(done, error)


def is_final(error: Any) -> bool:
    """Whether another attempt would only repeat it."""
    return isinstance(error, PayloadError)
