"""The child's side of the pipe: chooses the mirrored topics and applies a follower's steps to their logs.

Everything that touches the controller, partitions and files is here; `follower` decides the steps, `pipe` their
timing. Loop thread.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from fnmatch import fnmatchcase
from uuid import UUID

from penstock.broker.coordination.coordinator_log import resolving
from penstock.cluster.controller.mirrors_frontend import MirrorsFrontend
from penstock.cluster.mirrors import NewMirror
from penstock.cluster.partition import Partition
from penstock.cluster.partitions import PartitionTable
from penstock.cluster.topics import Topic, TopicTable
from penstock.config.settings import PipeSettings
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.ids import PartitionId
from penstock.model.topic_name import INTERNAL_NAMES
from penstock.runtime.clock import Clock
from penstock.runtime.turns import Turns
from penstock.topology.pipe.follower import Diverge, Followed, Lose, PipeFollower, Place, Restart, Step, Store, Trim
from penstock.topology.pipe.interface import ParentTopic, ParentTopics
from penstock.topology.pipe.reading import last_batch

logger = logging.getLogger(__name__)

BUSY_SECONDS = 0.05
BUSY_TRIES = 200
LOST = "the parent has no such topic, or does not let this node read it"
NAMES_SHOWN = 10


class LocalFailure(Exception):
    """A failure of this node to store its parent's records: a full or failed disk, or a limit. Tried again."""


@dataclass(slots=True)
class Counts:
    """Counts since the start of the process."""

    batches: int = 0
    messages: int = 0
    size_bytes: int = 0
    gaps: int = 0
    missed: int = 0
    """Offsets that were lost for good."""


class MirrorBackend:
    """The mirrors of this node, as the pipe creates, alters and fills them."""

    def __init__(
        self,
        settings: PipeSettings,
        topics: TopicTable,
        partitions: PartitionTable,
        frontend: MirrorsFrontend,
        clock: Clock,
    ) -> None:
        self.settings = settings
        self.topics = topics
        self.partitions = partitions
        self.frontend = frontend
        self.clock = clock
        self.counts = Counts()
        self.refused: dict[str, str] = {}
        """Reasons why topics of the parent are not mirrored, by name."""
        self.lost: set[str] = set()
        """Mirrors whose topic the parent does not have."""
        self._unstored: list[tuple[Partition, int]] = []

    def is_chosen(self, name: str) -> bool:
        if name in INTERNAL_NAMES or any(fnmatchcase(name, pattern) for pattern in self.settings.exclude):
            return False
        return any(fnmatchcase(name, pattern) for pattern in self.settings.topics)

    def mirrors(self) -> list[Topic]:
        return [topic for topic in self.topics.all() if topic.mirror]

    def set_parent(self, url: str | None) -> None:
        """Name the parent in refusals of writes to a mirror."""
        self.topics.parent = url

    async def drop(self, topic: Topic) -> None:
        await self.frontend.drop(topic)

    # --- topics ------------------------------------------------------------------------------------------------------

    async def arrange(self, parent: ParentTopics, follower: PipeFollower) -> bool:
        """Create and alter mirrors to match the parent's topics, and follow their partitions.

        False if that has to be tried again soon.
        """
        follower.topics_version = parent.version
        chosen = [topic for topic in parent.topics if self.is_chosen(topic.name)]
        names = {topic.name for topic in chosen}
        self._set_lost(
            {topic.name for topic in self.mirrors() if topic.name not in names and self.is_chosen(topic.name)}
        )
        self.refused = {}
        is_complete = True
        turns = Turns()
        for wanted in chosen:
            try:
                topic = await self._put(wanted)
                if topic is not None:
                    for index in range(topic.partition_count):
                        if Place(topic.topic_id.bytes, index) not in follower.partitions:
                            followed = await self._followed(topic, index)
                            followed.high_watermark = wanted.ends[index] if index < len(wanted.ends) else -1
                            follower.follow(followed)
                        await turns.pause()
            except KafkaError as error:
                self.refused[wanted.name] = str(error)
                is_complete &= error.code is not ErrorCode.REQUEST_TIMED_OUT
        return is_complete

    def _set_lost(self, lost: set[str]) -> None:
        """Note the mirrors that the parent does not serve, with one line for each change."""
        for names, text in ((lost - self.lost, LOST), (self.lost - lost, "the parent serves it again")):
            if names:
                more = f" and {len(names) - NAMES_SHOWN} others" if len(names) > NAMES_SHOWN else ""
                logger.warning("mirror %s%s: %s", ", ".join(sorted(names)[:NAMES_SHOWN]), more, text)
        self.lost = lost

    async def _put(self, wanted: ParentTopic) -> Topic | None:
        """The mirror, as it is now; None if it is not to be followed. KafkaError if it cannot be created."""
        topic = self.topics.get(wanted.name)
        if topic is not None and topic.mirror:
            if topic.diverged:
                return None
            if topic.topic_id != wanted.topic_id:
                reason = f"the parent's topic is another one: its id is {wanted.topic_id}, here it was {topic.topic_id}"
                await self._diverge(topic, reason)
                return None
        new = NewMirror(
            name=wanted.name,
            topic_id=wanted.topic_id,
            partition_count=wanted.partition_count,
            configs=wanted.configs,
        )
        try:
            return await self.frontend.put(new)
        except KafkaError as error:
            if error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                raise
            text = "a topic of this name was made here and has records; delete it, or leave it out with pipe.exclude"
            raise KafkaError(error.code, text) from error

    async def _followed(self, topic: Topic, index: int) -> Followed:
        partition = self._partition(Place(topic.topic_id.bytes, index))
        await self._stored([(partition, partition.log_end - 1)])
        try:
            last = last_batch(partition, wait=False)
        except BlockingIOError:
            last = await asyncio.to_thread(last_batch, partition, wait=True)
        end = partition.log_end
        epoch = partition.epoch_at(end - 1) if end > partition.log_start else -1
        return Followed(Place(topic.topic_id.bytes, index), end, partition.log_start, epoch, last)

    # --- steps -------------------------------------------------------------------------------------------------------

    async def take(self, steps: list[Step], follower: PipeFollower) -> None:
        """Carry out the follower's steps. At most one answer that is not yet on disk waits in memory meanwhile.

        LocalFailure if it cannot be done.
        """
        before, self._unstored = self._unstored, []
        await self._stored(before)
        try:
            for step in steps:
                await self._step(step, follower)
        except KafkaError as error:
            raise LocalFailure(str(error)) from error
        except OSError as error:
            raise LocalFailure(f"the disk of this node: {error}") from error

    async def settle(self) -> None:
        """Wait until everything is on disk."""
        before, self._unstored = self._unstored, []
        await self._stored(before)

    async def _step(self, step: Step, follower: PipeFollower) -> None:
        if isinstance(step, Store):
            await self._store(step)
        elif isinstance(step, Restart):
            await self._restart(step)
        elif isinstance(step, Trim):
            await self._trim(step)
        elif isinstance(step, Lose):
            topic = self._topic(step.place)
            if topic is not None:
                self._set_lost(self.lost | {topic.name})
        else:
            await self._diverged(step, follower)

    async def _store(self, step: Store) -> None:
        partition = self._partition(step.place)
        counts, now_ms, turns = self.counts, self.clock.now_ms(), Turns()
        for data, header in step.batches:
            partition.append_mirrored(data, header, now_ms)
            counts.batches += 1
            counts.messages += header.record_count
            counts.size_bytes += len(data)
            await turns.pause()
        self._unstored.append((partition, partition.log_end - 1))

    async def _trim(self, step: Trim) -> None:
        partition = self._partition(step.place)
        await self._stored([(partition, step.log_start - 1)])
        await partition.delete_records(step.log_start)

    async def _restart(self, step: Restart) -> None:
        partition = self._partition(step.place)
        if step.missing_from >= 0:
            self.counts.gaps += 1
            self.counts.missed += step.offset - step.missing_from
            logger.warning(
                "%s-%d: the parent has nothing below %d any more, offsets from %d on are missing here",
                partition.topic, partition.index, step.offset, step.missing_from,
            )  # fmt: skip
        await self._stored([(partition, partition.log_end - 1)])
        for _ in range(BUSY_TRIES):
            try:
                self.partitions.restart_at(partition, step.offset)
                return
            except BlockingIOError:
                await asyncio.sleep(BUSY_SECONDS)
        raise LocalFailure(f"{partition.topic}-{partition.index} is busy")

    async def _diverged(self, step: Diverge, follower: PipeFollower) -> None:
        topic = self._topic(step.place)
        follower.forget_topic(step.place.topic)
        if topic is not None:
            await self._diverge(topic, f"partition {step.place.partition}: {step.reason}")

    async def _diverge(self, topic: Topic, reason: str) -> None:
        await self.frontend.set_diverged(topic, reason)
        logger.error(
            "%s has DIVERGED from the parent's: %s; it is followed again after `penstock pipe reset %s`",
            topic.name, reason, topic.name,
        )  # fmt: skip

    # --- partitions --------------------------------------------------------------------------------------------------

    def _topic(self, place: Place) -> Topic | None:
        return self.topics.get_by_id(UUID(bytes=place.topic))

    def _partition(self, place: Place) -> Partition:
        partition = self.partitions.find(place.topic, place.partition)
        assert partition.mirror, f"{partition.topic} is not a mirror"
        assert partition.id == PartitionId(UUID(bytes=place.topic), place.partition)
        return partition

    async def _stored(self, waited_for: list[tuple[Partition, int]]) -> None:
        """LocalFailure if a log has failed meanwhile."""
        for partition, last_offset in waited_for:
            stored: asyncio.Future[ErrorCode] = asyncio.get_running_loop().create_future()
            partition.when_stored(last_offset, resolving(stored))
            code = await stored
            if code is not ErrorCode.NONE and not partition.deleted:
                raise LocalFailure(f"{partition.topic}-{partition.index}: {code.name}")
