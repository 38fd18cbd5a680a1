"""Table of all partitions of this node, opened on first use.

Ten thousand partitions start fast because a topic is only a list of empty slots here: the log behind a slot is opened
at the first request for it. Look-ups are on the path of every produce and fetch: two dictionary or list accesses.
The table follows the topic table, and passes finished flush rounds on to the partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from penstock.cluster.partition import Partition
from penstock.cluster.role import Leader, Mirror, Role
from penstock.cluster.topics import Topic, TopicChange, TopicTable
from penstock.cluster.visibility import ON_DISK, Visibility
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.ids import PartitionId, TopicId
from penstock.runtime.turns import Steps
from penstock.storage.interface import Log, LogEngine, LogState

Places = list[Partition | None]
_OFFLINE: Final = LogState.OFFLINE  # looked up once: this is asked for every flush


class LogSummary(NamedTuple):
    """One open log, as the metrics show it."""

    topic: str
    partition: int
    log_start: int
    high_watermark: int
    size_bytes: int
    segment_count: int


OpenListener = Callable[[Partition], None]


class PartitionTable:
    """Partitions by topic name or id, and index."""

    def __init__(self, *, engine: LogEngine, topics: TopicTable, visibility: Visibility = ON_DISK) -> None:
        self._engine = engine
        self._visibility = visibility
        self._topics = topics
        self._by_name: dict[str, Places] = {}
        self._by_id: dict[int, Places] = {}  # by the integer of the id: a UUID hashes in Python, slowly
        self._offline: set[PartitionId] = set()
        self._open_listeners: list[OpenListener] = []
        self._unopened: set[PartitionId] = set()  # offline ones whose log could not be opened: a retry may succeed
        topics.subscribe(self._follow)
        for topic in topics.all():
            self._follow(TopicChange(None, topic))

    def subscribe(self, listener: OpenListener) -> None:
        """Call the listener with every partition whose log is opened from now on; `opened` has those before it."""
        self._open_listeners.append(listener)

    def get(self, topic: str, index: int) -> Partition:
        places = self._by_name.get(topic)
        if places is None or not 0 <= index < len(places):
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return places[index] or self._open(places, self._topics.get(topic), index)

    def find(self, topic: str | bytes, index: int) -> Partition:
        """Find a partition by name, or by the 16 bytes of an id.

        Every produce and fetch looks up its partitions here.
        """
        if isinstance(topic, str):
            return self.get(topic, index)
        places = self._by_id.get(int.from_bytes(topic, "big"))
        if places is not None and 0 <= index < len(places) and (partition := places[index]) is not None:
            return partition
        return self.get_by_id(TopicId(bytes=topic), index)

    def get_by_id(self, topic_id: TopicId | None, index: int) -> Partition:
        places = self._by_id.get(topic_id.int) if topic_id is not None else None
        if places is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
        if not 0 <= index < len(places):
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return places[index] or self._open(places, self._topics.get_by_id(topic_id), index)

    def in_steps(self, topic: str, indexes: Iterable[int]) -> Steps[list[Partition]]:
        """Several partitions of a topic: each log that is not open costs a look at the disk."""
        partitions = []
        for index in indexes:
            partitions.append(self.get(topic, index))
            yield
        return partitions

    def opened(self) -> Iterator[Partition]:
        """The partitions in use so far."""
        for places in tuple(self._by_name.values()):
            for partition in places:
                if partition is not None:
                    yield partition

    def summaries(self) -> Iterator[LogSummary]:
        """Every open log, whether or not a client has used it: the engine opens them by and by."""
        for log in tuple(self._engine.open_logs()):
            partition = self._peek(log.partition)
            # A log without a partition has had no writer: all of it is visible.
            end = log.flushed if partition is None else partition.high_watermark
            yield LogSummary(log.topic, log.partition.partition, log.log_start, end, log.size_bytes, log.segment_count)

    @property
    def damaged_count(self) -> int:
        return sum(log.state is LogState.DAMAGED for log in self._engine.open_logs())

    def _peek(self, partition: PartitionId) -> Partition | None:
        places = self._by_id.get(partition.topic_id.int)
        return None if places is None else places[partition.partition]

    def offline_in(self, topic: Topic) -> frozenset[int]:
        """Indexes of the partitions of a topic whose log has failed."""
        if not self._offline:
            return frozenset()
        self._open_again()
        return frozenset(lost.partition for lost in self._offline if lost.topic_id == topic.topic_id)

    @property
    def offline_count(self) -> int:
        self._open_again()
        return len(self._offline)

    def restart_at(self, partition: Partition, offset: int) -> None:
        """Forget all records of a copy and go on at `offset`, durably; waits for the disk.

        BlockingIOError while the log is under maintenance: try again a little later.
        """
        self._engine.restart_at(partition.id, offset)
        partition.restarted()

    def on_flushed(self, log: Log) -> None:
        """Tell the partition that its log has advanced or failed (a FlushListener of the log engine)."""
        places = self._by_id.get(log.partition.topic_id.int)
        if places is None:
            return  # its topic was deleted during the round
        if log.status.state is _OFFLINE:
            self._went_offline(log.partition)
        partition = places[log.partition.partition]
        if partition is not None:
            partition.log_advanced()

    def _open(self, places: Places, topic: Topic | None, index: int) -> Partition:
        assert topic is not None, "the partition table has a topic that the topic table does not have"
        partition_id = PartitionId(topic.topic_id, index)
        try:
            log = self._engine.log(partition_id)
        except OSError as error:
            self._went_offline(partition_id)
            self._unopened.add(partition_id)
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{topic.name}-{index}: {error}") from error
        self._opened(log)
        role: Role = Mirror() if topic.mirror else Leader(topic.leader_epochs[index])
        partition = places[index] = Partition(
            topic.name, partition_id, log, role, self._visibility, internal=topic.internal
        )
        for listener in self._open_listeners:
            listener(partition)
        return partition

    def _open_again(self) -> None:
        """Retry whenever the offline partitions are listed: no client uses a partition without a leader."""
        for partition_id in tuple(self._unopened):
            try:
                self._opened(self._engine.log(partition_id))
            except OSError:
                continue

    def _opened(self, log: Log) -> None:
        self._unopened.discard(log.partition)
        if log.state is LogState.OFFLINE:
            self._went_offline(log.partition)
        else:
            self._offline.discard(log.partition)

    def _went_offline(self, partition: PartitionId) -> None:
        self._offline.add(partition)

    def _follow(self, change: TopicChange) -> None:
        if change.after is None:
            self._close(change.before)
            return
        topic = change.after
        places = self._by_id.get(topic.topic_id.int)
        if places is None:
            places = self._by_name[topic.name] = self._by_id[topic.topic_id.int] = []
        places.extend([None] * (topic.partition_count - len(places)))

    def _close(self, topic: Topic | None) -> None:
        assert topic is not None
        del self._by_name[topic.name]
        for partition in self._by_id.pop(topic.topic_id.int):
            if partition is not None:
                partition.mark_deleted()
        self._offline = {partition for partition in self._offline if partition.topic_id != topic.topic_id}
        self._unopened &= self._offline
