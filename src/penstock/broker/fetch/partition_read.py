"""One partition of a fetch request: looked up and checked on the loop, read in whatever thread has to wait for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from penstock.cluster.partition import Partition
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.ids import NO_EPOCH
from penstock.protocol.kafka.fetch import FetchedPartition, FetchPartition, FetchRequest
from penstock.protocol.kafka.primitives import Buffer, Sendable
from penstock.protocol.kafka.topic_key import TopicKey
from penstock.runtime.turns import Steps
from penstock.security.resources import Operation
from penstock.security.session import Session
from penstock.storage.interface import ReadSlice

if TYPE_CHECKING:
    from penstock.broker.broker import Broker

Found = tuple[FetchedPartition, int, bool]
"""The answer, its number of messages, counted by offsets, and whether there is more that need not be waited for."""

# Looked up once: members of an enum are slow to find.
READ = Operation.READ
_NONE = ErrorCode.NONE


class FetchTarget(NamedTuple):
    """A partition of the request, looked up and checked; `error` says why it is not read."""

    item: FetchPartition
    partition: Partition | None
    error: ErrorCode = ErrorCode.NONE
    diverging: tuple[int, int] | None = None
    refused: bool = False
    """Before anything was read: there is no such partition, or no right to it. As in Kafka, such an error comes with an
    empty list of aborted transactions."""

    def read(self, left: int, segments_max: int, *, first: bool, wait: bool, committed_only: bool) -> Found:
        """BlockingIOError as in `Log.read`."""
        item, partition = self.item, self.partition
        if partition is None:
            return self._failed(self.error)
        # Asked once, and before the read: a record that is flushed meanwhile is neither read nor in the marks that the
        # answer, and a wait for more, go by.
        bounds = partition.bounds()
        _, last_stable, high_watermark = bounds
        found: Sequence[ReadSlice] = ()
        aborted: Sequence[tuple[int, int]] | None = () if committed_only else None
        if self.diverging is None:
            # A partition beyond the byte limit is still checked, so that its errors are reported at once.
            max_bytes = min(item.max_bytes, left)
            if max_bytes < 0:
                if partition.log_start <= item.fetch_offset < partition.high_watermark:
                    return self._failed(ErrorCode.UNKNOWN_SERVER_ERROR)  # as in Kafka
                max_bytes = 0
            try:
                found = partition.read_stretch(
                    item.fetch_offset,
                    max_bytes,
                    one_batch_at_least=first,
                    wait=wait,
                    end=last_stable if committed_only else high_watermark,
                    slices_max=segments_max,
                )
                if found and committed_only:
                    aborted = partition.aborted_transactions(item.fetch_offset, found[-1].next_offset, wait=wait)
            except KafkaError as error:
                return self._failed(error.code)
        return self._answer(bounds, found, aborted)

    def _answer(
        self, bounds: tuple[int, int, int], found: Sequence[ReadSlice], aborted: Sequence[tuple[int, int]] | None
    ) -> Found:
        item = self.item
        records: list[Buffer | Sendable] = []
        size = messages = 0
        has_more = False
        for piece in found:
            records.append(piece.part or piece.records)
            size += len(piece.records)
        if found:
            messages = piece.next_offset - max(item.fetch_offset, found[0].first_offset)
            has_more = piece.has_next
        log_start, last_stable, high_watermark = bounds
        answer = FetchedPartition(
            item.topic,
            item.partition,
            _NONE,
            high_watermark,
            last_stable,
            log_start,
            records,
            size,
            aborted,
            self.diverging,
        )
        return answer, messages, has_more

    def _failed(self, error: ErrorCode) -> Found:
        aborted = () if self.refused else None
        return FetchedPartition(self.item.topic, self.item.partition, error, -1, -1, -1, aborted=aborted), 0, False


def distinct(items: list[FetchPartition]) -> list[FetchPartition]:
    """A partition that is named twice counts once: where it came first, as it came last."""
    if len(items) < 2:
        return items
    return list({(item.topic, item.partition): item for item in items}.values())


class FetchTargets:
    """Finds the partitions of one request, again each time it is looked at."""

    __slots__ = ("_broker", "_names", "_request", "_session", "parked")

    def __init__(
        self, broker: Broker, session: Session, request: FetchRequest, names: dict[TopicKey, str] | None
    ) -> None:
        self._broker = broker
        self._session = session
        self._request = request
        self._names = names
        """Names of a session's topics when they were last seen."""
        self.parked = False
        """Whether the request was parked after a first look: a partition that does not exist now existed then."""

    def find(self, items: Iterable[FetchPartition]) -> list[FetchTarget]:
        """Targets in the order of the request, except that, as in Kafka, those that were refused then come last.

        Rights are checked each time: a right that is taken away ends a session's reading with its next look.
        """
        find = self._find
        targets: list[FetchTarget] = []
        refused: list[FetchTarget] = []
        for item in items:
            target = find(item)
            (refused if target.refused else targets).append(target)
        return targets + _ids_first(refused) if refused else targets

    def find_in_steps(self, items: Iterable[FetchPartition]) -> Steps[list[FetchTarget]]:
        """Find the same, for very many."""
        targets: list[FetchTarget] = []
        refused: list[FetchTarget] = []
        for item in items:
            target = self._find(item)
            (refused if target.refused else targets).append(target)
            yield
        return targets + _ids_first(refused)

    def _find(self, item: FetchPartition) -> FetchTarget:
        broker, topic = self._broker, item.topic
        name = topic if isinstance(topic, str) else None
        if name is not None and not broker.access.allows_topic(self._session, READ, name):
            return self._refused(item, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        try:
            partition = broker.partitions.find(topic, item.partition)
        except KafkaError as error:
            return self._not_found(item, error.code)
        if self._names is not None:
            self._names[topic] = partition.topic
        if name is None and not broker.access.allows_topic(self._session, READ, partition.topic):
            return self._refused(item, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        try:
            if self._request.replica_id >= 0:
                raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)  # no other node has a replica
            if partition.failed:
                raise KafkaError(partition.failure)
            if item.leader_epoch > NO_EPOCH:  # a negative one is none, as in Kafka
                partition.check_epoch(item.leader_epoch)
            return FetchTarget(item, partition, _NONE, _divergence(partition, item))
        except KafkaError as error:
            return FetchTarget(item, None, error.code)

    def _not_found(self, item: FetchPartition, code: ErrorCode) -> FetchTarget:
        """The error for a session's topic that is gone: there is another topic of its name now, or there is none."""
        if code is ErrorCode.UNKNOWN_TOPIC_ID and self._names is not None and item.topic in self._names:
            if self._broker.topics.get(self._names[item.topic]) is not None:
                return FetchTarget(item, None, ErrorCode.INCONSISTENT_TOPIC_ID)
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return self._refused(item, code)

    def _refused(self, item: FetchPartition, code: ErrorCode) -> FetchTarget:
        return FetchTarget(item, None, code, refused=not self.parked)


def _ids_first(refused: list[FetchTarget]) -> list[FetchTarget]:
    """Ids that do not exist are found before rights and names are looked at."""
    return sorted(refused, key=lambda target: target.error is not ErrorCode.UNKNOWN_TOPIC_ID)


def _divergence(partition: Partition, item: FetchPartition) -> tuple[int, int] | None:
    """KIP-595: the client's last record is not ours if its epoch ended before the offset it asks for."""
    if item.last_fetched_epoch < 0:
        return None
    epoch, end = partition.epoch_end(item.last_fetched_epoch)
    if epoch < 0:
        raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE)
    if epoch < item.last_fetched_epoch or end < item.fetch_offset:
        return epoch, end
    return None
