"""Fetch sessions (KIP-227): a consumer lists its partitions once, then sends and receives only changes.

A session is a dictionary of partitions with the last answer about each. Sessions live in a cache of
bounded size. When it is full, one that has not been used for two minutes makes room, and its client starts another
after FETCH_SESSION_ID_NOT_FOUND; if all are in use, a new client gets no session, as in Kafka: taking turns would cost
every client its session at every request.
"""

from __future__ import annotations

import random
from collections import OrderedDict

from penstock.cluster.partition import Partition
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.limits import FETCH_SESSION_UNUSED_MS, FETCH_SESSIONS_MAX
from penstock.protocol.kafka.fetch import FetchedPartition, FetchPartition, FetchRequest
from penstock.protocol.kafka.topic_key import TopicKey

FINAL_EPOCH = -1
INITIAL_EPOCH = 0

PartitionKey = tuple[TopicKey, int]


class SessionPartition:
    """The client's request for one partition, and the last answer about it."""

    __slots__ = ("high_watermark", "log_start", "partition", "request")

    def __init__(self, request: FetchPartition) -> None:
        self.request = request
        self.high_watermark = -2  # nothing reported yet: any value is news
        self.log_start = -2
        self.partition: Partition | None = None  # where it was found, all being well

    @property
    def quiet(self) -> bool:
        """Whether there is clearly no news: the client has everything and knows where the log begins and ends."""
        partition = self.partition
        return (
            partition is not None
            and partition.high_watermark == self.high_watermark == self.request.fetch_offset
            and partition.log_start == self.log_start
            and not partition.failed
        )

    def is_news(self, answer: FetchedPartition) -> bool:
        return bool(
            answer.error
            or answer.size
            or answer.diverging_epoch is not None
            or answer.high_watermark != self.high_watermark
            or answer.log_start != self.log_start
        )

    def sent(self, answer: FetchedPartition) -> None:
        # After an error the next state is always news.
        self.high_watermark = -2 if answer.error else answer.high_watermark
        self.log_start = -2 if answer.error else answer.log_start


class FetchSession:
    """One client's standing request."""

    __slots__ = ("by_id", "epoch", "id", "names", "partitions", "used_ms")

    def __init__(self, session_id: int, by_id: bool, now_ms: int) -> None:
        self.id = session_id
        self.used_ms = now_ms
        self.by_id = by_id  # whether topics are named by id, which may not change within a session
        self.epoch = 1  # of the next request
        self.partitions: dict[PartitionKey, SessionPartition] = {}
        self.names: dict[TopicKey, str] = {}
        """Names of the topics that are named by id, when they were last seen."""

    def update(self, request: FetchRequest) -> None:
        for item in request.partitions:
            key = (item.topic, item.partition)
            known = self.partitions.get(key)
            if known is None:
                self.partitions[key] = SessionPartition(item)
            else:
                known.request, known.partition = item, None
        for key in request.forgotten:
            self.partitions.pop(key, None)
            self.names.pop(key[0], None)

    def next_epoch(self) -> None:
        self.epoch = 1 if self.epoch == 0x7FFFFFFF else self.epoch + 1

    def wanted(self) -> list[FetchPartition]:
        return [item.request for item in self.partitions.values()]

    def unsettled(self) -> list[FetchPartition]:
        """The partitions that have to be looked at."""
        return [item.request for item in self.partitions.values() if not item.quiet]

    def note_found(self, request: FetchPartition, partition: Partition | None) -> None:
        """Remember where a partition is: what is in order with it stays so until it fails or the client moves on."""
        item = self.partitions.get((request.topic, request.partition))
        if item is not None and item.request is request:
            item.partition = partition

    def with_news(self, answers: list[FetchedPartition]) -> list[FetchedPartition]:
        """The partitions that `news` would report, without marking them as reported."""
        known = ((self.partitions.get((answer.topic, answer.partition)), answer) for answer in answers)
        return [answer for item, answer in known if item is not None and item.is_news(answer)]

    def news(self, answers: list[FetchedPartition], *, full: bool) -> list[FetchedPartition]:
        """The partitions with news. Those with data move to the end, so that the next answer begins with others."""
        changed = []
        for answer in answers:
            key = (answer.topic, answer.partition)
            item = self.partitions.get(key)
            if item is None or not (full or item.is_news(answer)):
                continue
            item.sent(answer)
            changed.append(answer)
            if not full and answer.size:
                self.partitions[key] = self.partitions.pop(key)
        return changed


class FetchSessions:
    """The cache of sessions."""

    def __init__(self, sessions_max: int = FETCH_SESSIONS_MAX) -> None:
        self._sessions: OrderedDict[int, FetchSession] = OrderedDict()
        self._sessions_max = sessions_max

    def __len__(self) -> int:
        return len(self._sessions)

    def open(self, request: FetchRequest, by_id: bool, now_ms: int) -> FetchSession | None:
        """The session of a request, made, found or ended as its id and epoch say; None for a request without one."""
        if request.session_epoch == FINAL_EPOCH:
            self._sessions.pop(request.session_id, None)
            return None
        if request.session_epoch == INITIAL_EPOCH:
            self._sessions.pop(request.session_id, None)
            return self._make(request, by_id, now_ms) if self._has_room(now_ms) else None
        session = self._resume(request, by_id)
        session.used_ms = now_ms
        if not session.partitions:  # the client forgot all of them
            del self._sessions[session.id]
            return None
        return session

    def forget(self, session: FetchSession) -> None:
        """Drop a session without notice to its client."""
        self._sessions.pop(session.id, None)

    def _has_room(self, now_ms: int) -> bool:
        if len(self._sessions) < self._sessions_max:
            return True
        oldest = next(iter(self._sessions.values()))
        if now_ms - oldest.used_ms < FETCH_SESSION_UNUSED_MS:
            return False
        del self._sessions[oldest.id]
        return True

    def _make(self, request: FetchRequest, by_id: bool, now_ms: int) -> FetchSession:
        session_id = 0
        while session_id == 0 or session_id in self._sessions:
            session_id = random.randint(1, 0x7FFFFFFF)
        session = FetchSession(session_id, by_id, now_ms)
        session.update(request)
        self._sessions[session_id] = session
        return session

    def _resume(self, request: FetchRequest, by_id: bool) -> FetchSession:
        session = self._sessions.get(request.session_id)
        if session is None:
            raise KafkaError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != request.session_epoch:
            raise KafkaError(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        if session.by_id != by_id:
            raise KafkaError(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        session.update(request)
        session.next_epoch()
        self._sessions.move_to_end(session.id)
        return session
