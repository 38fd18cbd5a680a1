"""Calling a handler: on the loop if it is a coroutine function, otherwise in a thread, many messages at a time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from penstock.client.push.message import Message
from penstock.consumers.definition import Definition
from penstock.consumers.errors import PayloadError
from penstock.consumers.metrics import HandlerProbe
from penstock.consumers.policy import ErrorAction
from penstock.consumers.threads import HandlerThreads

SLICE_S = 0.05
"""Report a run of calls after this time, so that finished messages are acknowledged."""


@dataclass(slots=True)
class Outcome:
    """Result of a call: the first `done` messages are done; `error`, if any, is that of the next one."""

    done: int = 0
    error: Exception | None = None
    durations: list[float] = field(default_factory=list)

    @property
    def is_final(self) -> bool:
        """Whether another attempt would only repeat the failure."""
        return isinstance(self.error, PayloadError)

    def took(self, started: float) -> None:
        self.durations.append(time.monotonic() - started)


class Caller:
    """The calls of one consumer. As many at the same time as its mark says; never two of a partition."""

    def __init__(self, definition: Definition, probe: HandlerProbe, is_stopping: Callable[[], bool]) -> None:
        self._definition = definition
        self._probe = probe
        self._is_stopping = is_stopping
        concurrency = definition.mark.concurrency
        self._turns = asyncio.Semaphore(concurrency)
        self._threads = HandlerThreads(concurrency, f"handler-{definition.name}")

    async def call(self, messages: Sequence[Message]) -> Outcome:
        """Call the handler for messages in their order, until one fails or it is time to stop."""
        async with self._turns:
            if self._is_stopping():
                return Outcome()
            if self._definition.is_async:
                outcome = await self._call_on_loop(messages)
            else:
                outcome = await self._threads.run(lambda: self._call_in_thread(messages))
        self._measure(outcome)
        return outcome

    async def report(self, message: Message, error: Exception) -> ErrorAction:
        """Ask the error handler for its decision. Without one: a dead letter."""
        on_error = self._definition.on_error
        if on_error is None:
            return ErrorAction.DEAD_LETTER
        arguments = (message, error)[: self._definition.on_error_arguments]
        async with self._turns:
            if self._definition.on_error_is_async:
                answer = await on_error(*arguments)
            else:
                answer = await self._threads.run(lambda: on_error(*arguments))
        return answer if isinstance(answer, ErrorAction) else ErrorAction.DEAD_LETTER

    def close(self) -> None:
        self._threads.close()

    def _steps(self, messages: Sequence[Message]) -> list[Sequence[Message]]:
        return [messages] if self._definition.batch is not None else [[message] for message in messages]

    def _call_in_thread(self, messages: Sequence[Message]) -> Outcome:
        outcome, until = Outcome(), time.monotonic() + SLICE_S
        for step in self._steps(messages):
            started = time.monotonic()
            if outcome.done and (started >= until or self._is_stopping()):
                break
            try:
                arguments = self._definition.arguments(step)
                try:
                    self._definition.call(*arguments)
                finally:
                    outcome.took(started)
            except Exception as error:
                outcome.error = error
                break
            outcome.done += len(step)
        return outcome

    async def _call_on_loop(self, messages: Sequence[Message]) -> Outcome:
        outcome, until = Outcome(), time.monotonic() + SLICE_S
        for step in self._steps(messages):
            started = time.monotonic()
            if outcome.done and (started >= until or self._is_stopping()):
                break
            try:
                arguments = self._definition.arguments(step)
                try:
                    await self._definition.call(*arguments)
                finally:
                    outcome.took(started)
            except Exception as error:
                outcome.error = error
                break
            outcome.done += len(step)
        return outcome

    def _measure(self, outcome: Outcome) -> None:
        """Count calls and durations.

        This is done on the loop and not in the thread of the call: the loop owns the figures.
        """
        probe = self._probe
        probe.messages += outcome.done
        probe.failures += outcome.error is not None
        probe.calls += len(outcome.durations)
        for seconds in outcome.durations:
            probe.duration.observe(seconds)
