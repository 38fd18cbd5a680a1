"""One consumer at work: a lane for each partition, each with a task that calls, waits, acknowledges and gives up.

It is the target of its subscription. Messages that it does not finish are not acknowledged, so the broker sends them
again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence

from penstock.client.push.acknowledgements import Acknowledgements
from penstock.client.push.async_client import AsyncBrokerClient
from penstock.client.push.errors import BrokerRefused
from penstock.client.push.events import Target
from penstock.client.push.memberships import Membership, start_of
from penstock.client.push.message import Message
from penstock.consumers.calling import Caller, Outcome
from penstock.consumers.dead_letters import DeadLetters
from penstock.consumers.definition import Definition
from penstock.consumers.lane import GiveUp, Lane, Pause, Work
from penstock.consumers.metrics import HandlerProbe
from penstock.consumers.policy import ErrorAction
from penstock.protocol.push.messages import Delivery, Reset

logger = logging.getLogger(__name__)

DRAIN_LOOK_S = 0.01


class Worker:
    """A worker between `start` and `stop`. `on_lost` is called when the subscription is gone for good."""

    def __init__(
        self,
        definition: Definition,
        client: AsyncBrokerClient,
        probe: HandlerProbe,
        on_lost: Callable[[Exception], None],
    ) -> None:
        self.definition = definition
        self._client = client
        self._probe = probe
        self._on_lost = on_lost
        self._name = ""
        self._lanes: dict[int, Lane] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._wakes: dict[int, asyncio.Event] = {}
        self._generation = 0
        self._stopping = asyncio.Event()
        self._caller = Caller(definition, probe, self._stopping.is_set)
        self._dead_letters = DeadLetters(client, definition.mark.topic, definition.mark.group, definition.name)

    async def start(self, target: Target | None = None) -> None:
        """Join the group, and create it if it is new.

        With a `target` messages go there first: it passes them on to `deliver`, and answers resets itself.
        """
        mark = self.definition.mark
        membership = Membership(
            target=target or self,
            topic=mark.topic,
            group=mark.group,
            credit=mark.credit,
            start=start_of(mark.start),
            delivery=Delivery[mark.delivery.upper()],
            is_ready_by_itself=target is None,
        )
        self._name = await self._client.join(membership)
        logger.info("consuming", extra={"handler": self.definition.name, "topic": mark.topic, "group": mark.group})

    async def drain(self, timeout_s: float) -> None:
        """Wait until no messages are left, or the time is over."""
        until = time.monotonic() + timeout_s
        while any(map(len, self._lanes.values())) and time.monotonic() < until:  # noqa: ASYNC110 - the end, not a wait for long
            await asyncio.sleep(DRAIN_LOOK_S)

    async def stop(self, timeout_s: float) -> None:
        """Finish and acknowledge running calls. Messages that wait for another attempt are left to the broker."""
        self._stopping.set()
        for wake in self._wakes.values():
            wake.set()
        if self._tasks:
            _, late = await asyncio.wait(self._tasks.values(), timeout=timeout_s)
            for task in late:
                logger.warning("%s did not end within %.0f s", self.definition.name, timeout_s)
                task.cancel()
        self._caller.close()

    # --- the target ------------------------------------------------------------------------------------------------

    def deliver(self, messages: list[Message]) -> None:
        generation = messages[-1].generation
        if generation != self._generation:
            self._generation = generation
            for lane in self._lanes.values():
                lane.keep(generation)
        by_partition: dict[int, list[Message]] = {}
        for message in messages:
            if message.generation == generation:
                by_partition.setdefault(message.partition, []).append(message)
        for partition, some in by_partition.items():
            self._lane(partition).add(some)
            self._wakes[partition].set()

    def reset(self, reset: Reset) -> None:
        """Do nothing: a handler has no data to rebuild, it only gets the messages again."""

    def lost(self, error: Exception) -> None:
        self._on_lost(error)

    def _lane(self, partition: int) -> Lane:
        if partition not in self._lanes:
            lane = self._lanes[partition] = Lane(self.definition.policy, batch=self.definition.batch)
            self._wakes[partition] = asyncio.Event()
            task = self._tasks[partition] = asyncio.create_task(self._work(partition, lane))
            task.add_done_callback(self._ended)
        return self._lanes[partition]

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Handle the unexpected end of a lane's task: its partition must not hang."""
        error = None if task.cancelled() else task.exception()
        if error is not None:
            logger.error("%s cannot go on", self.definition.name, exc_info=error)
            self._on_lost(error if isinstance(error, Exception) else RuntimeError(repr(error)))

    # --- one lane --------------------------------------------------------------------------------------------------

    async def _work(self, partition: int, lane: Lane) -> None:
        wake = self._wakes[partition]
        while not self._stopping.is_set():
            match lane.next(time.monotonic()):
                case None:
                    wake.clear()
                    await wake.wait()
                case Pause(until=until):
                    await self._pause(until)
                case Work(messages=messages) if not self._is_current(messages[0]):
                    lane.keep(self._client.generation if self._client.is_connected else None)
                case Work(messages=messages):
                    await self._do(lane, messages, await self._caller.call(messages))

    def _is_current(self, message: Message) -> bool:
        return self._client.is_connected and message.generation == self._client.generation

    async def _pause(self, until: float) -> None:
        try:
            async with asyncio.timeout(max(0.0, until - time.monotonic())):
                await self._stopping.wait()
        except TimeoutError:
            pass

    async def _do(self, lane: Lane, messages: Sequence[Message], outcome: Outcome) -> None:
        if not lane.holds(messages[0]):
            return  # its connection has gone: what was done here comes again
        self._acknowledge(lane.succeeded(outcome.done))
        if outcome.error is None:
            return
        error = outcome.error
        size = len(messages) if self.definition.batch is not None else 1
        decision = lane.failed(time.monotonic(), size=size, final=outcome.is_final)
        if isinstance(decision, GiveUp):
            await self._give_up(lane, decision, error)
        else:
            self._probe.retries += 1
            logger.info("%s failed, and tries again: %s: %s", self.definition.name, type(error).__name__, error)

    async def _give_up(self, lane: Lane, decision: GiveUp, error: Exception) -> None:
        message = decision.message
        logger.warning("%s gives up on %r: %s: %s", self.definition.name, message, type(error).__name__, error)
        action = ErrorAction.DEAD_LETTER
        try:
            action = await self._caller.report(message, error)
        except Exception:
            logger.exception("the error handler of %s failed for %r", self.definition.name, message)
        if action is ErrorAction.RETRY:
            self._probe.retries += 1
            lane.again(time.monotonic())
            return
        if action is ErrorAction.DEAD_LETTER:
            try:
                if not await self._dead_letters.write(message, error, decision.attempts, self._stopping):
                    return  # stopping: the broker gives the message to another member
            except BrokerRefused as refused:
                logger.error("no dead letter for %r, so the broker gets it back: %s", message, refused)
                self._drop(lane, message, is_done=False)
                return
            self._probe.dead_letters += 1
        else:
            self._probe.skipped += 1
        self._drop(lane, message, is_done=True)

    def _drop(self, lane: Lane, message: Message, *, is_done: bool) -> None:
        if lane.holds(message):
            lane.dropped()
            answer = Acknowledgements()
            if is_done:
                answer.done(message)
            else:
                answer.not_done(message)
            self._client.acknowledge(self._name, answer)

    def _acknowledge(self, messages: list[Message]) -> None:
        done = Acknowledgements()
        for message in messages:
            done.done(message)
        if messages:
            self._client.acknowledge(self._name, done)
