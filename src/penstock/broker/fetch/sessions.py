"""Fetch sessions (KIP-227): a consumer lists its partitions once, then sends and receives only changes.

A session is a dictionary of partitions with the last answer about each. Sessions live in a cache of bounded size: so
many of them, and so many partitions in all, which need not exist. When it is full, sessions that have not been used for
two minutes make room, and their clients start others after FETCH_SESSION_ID_NOT_FOUND; if all are in use, a new client
gets no session, as in Kafka: taking turns would cost every client its session at every request. A session that grows
when there is no room is dropped, too.

A session belongs to the principal that began it; to others it does not exist. One principal may fill the cache as long
as nobody else wants a place. Then it gives up sessions, in use or not, until it has a quarter.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Final

from penstock.cluster.partition import Partition
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.limits import (
    FETCH_SESSION_PARTITIONS_MAX,
    FETCH_SESSION_PARTS,
    FETCH_SESSION_UNUSED_MS,
    FETCH_SESSIONS_MAX,
)
from penstock.protocol.kafka.fetch import FetchedPartition, FetchPartition, FetchRequest
from penstock.protocol.kafka.topic_key import TopicKey
from penstock.runtime.turns import Steps
from penstock.security.principal import Principal

FINAL_EPOCH = -1
INITIAL_EPOCH = 0

COMMON_NAME_LENGTH: Final = 400
PARTITIONS_A_STEP: Final = 50

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

    __slots__ = ("by_id", "epoch", "id", "names", "owner", "partitions", "rules_version", "used_ms", "weight")

    def __init__(self, session_id: int, owner: Principal, by_id: bool, now_ms: int) -> None:
        self.id = session_id
        self.owner = owner
        self.used_ms = now_ms
        self.by_id = by_id  # whether topics are named by id, which may not change within a session
        self.epoch = 1  # of the next request
        self.weight = 0
        """Number of partitions; those with a long name, which cannot exist, count several times."""
        self.partitions: dict[PartitionKey, SessionPartition] = {}
        self.names: dict[TopicKey, str] = {}
        """Names of the topics that are named by id, when they were last seen."""
        self.rules_version = -1
        """Version of the authorizer's rules by which all partitions were last looked at."""

    def update(self, partitions: Sequence[FetchPartition], forgotten: Sequence[PartitionKey]) -> int:
        """Take over what the client wants and no longer wants. Returns by how much the weight has grown."""
        before = self.weight
        for item in partitions:
            key = (item.topic, item.partition)
            known = self.partitions.get(key)
            if known is None:
                self.partitions[key] = SessionPartition(item)
                self.weight += _weight(item.topic)
            else:
                known.request, known.partition = item, None
        for key in forgotten:
            if self.partitions.pop(key, None) is not None:
                self.weight -= _weight(key[0])
            self.names.pop(key[0], None)
        return self.weight - before

    def next_epoch(self) -> None:
        self.epoch = 1 if self.epoch == 0x7FFFFFFF else self.epoch + 1

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


def wanted(partitions: Iterable[SessionPartition]) -> list[FetchPartition]:
    """Any thread, of partitions that are a list."""
    return [item.request for item in partitions]


def unsettled(partitions: Iterable[SessionPartition]) -> list[FetchPartition]:
    """Those that have to be looked at. Any thread, of partitions that are a list."""
    return [item.request for item in partitions if not item.quiet]


def _weight(topic: TopicKey) -> int:
    return 1 + len(topic) // COMMON_NAME_LENGTH if isinstance(topic, str) else 1


class _Share:
    """The sessions of one principal."""

    __slots__ = ("sessions", "weight")

    def __init__(self) -> None:
        self.sessions: dict[int, FetchSession] = {}
        self.weight = 0


class FetchSessions:
    """The cache of sessions."""

    def __init__(
        self, sessions_max: int = FETCH_SESSIONS_MAX, partitions_max: int = FETCH_SESSION_PARTITIONS_MAX
    ) -> None:
        self._sessions: OrderedDict[int, FetchSession] = OrderedDict()
        self._sessions_max = sessions_max
        self._partitions_max = partitions_max
        self._shares: dict[Principal, _Share] = {}
        self._large: set[Principal] = set()
        """Principals with more than their part of the sessions or of the partitions."""
        self.weight = 0
        """That of all sessions together."""

    def __len__(self) -> int:
        return len(self._sessions)

    def open(self, request: FetchRequest, owner: Principal, by_id: bool, now_ms: int) -> FetchSession | None:
        """The session of a request, made, found or ended as its id and epoch say; None for a request without one."""
        session = self._begin(request, owner, by_id, now_ms)
        if session is None:
            return None
        self._update(session, request.partitions, request.forgotten, now_ms)
        return self._kept(session, request)

    def open_in_steps(
        self, request: FetchRequest, owner: Principal, by_id: bool, now_ms: int
    ) -> Steps[FetchSession | None]:
        """Open the same, for very many partitions."""
        session = self._begin(request, owner, by_id, now_ms)
        if session is None:
            return None
        for first in range(0, len(request.partitions), PARTITIONS_A_STEP):
            self._update(session, request.partitions[first : first + PARTITIONS_A_STEP], (), now_ms)
            yield
        for first in range(0, len(request.forgotten), PARTITIONS_A_STEP):
            self._update(session, (), request.forgotten[first : first + PARTITIONS_A_STEP], now_ms)
            yield
        return self._kept(session, request)

    def _begin(self, request: FetchRequest, owner: Principal, by_id: bool, now_ms: int) -> FetchSession | None:
        """The session as it was before the request, or a new one."""
        if request.session_epoch in (FINAL_EPOCH, INITIAL_EPOCH):
            known = self._sessions.get(request.session_id)
            if known is not None and known.owner == owner:
                self._drop(known)
            if request.session_epoch == FINAL_EPOCH:
                return None
            has_room = self._has_room(owner, now_ms, sessions=1, partitions=len(request.partitions))
            return self._make(owner, by_id, now_ms) if has_room else None
        return self._resume(request, owner, by_id, now_ms)

    def _update(
        self,
        session: FetchSession,
        partitions: Sequence[FetchPartition],
        forgotten: Sequence[PartitionKey],
        now_ms: int,
    ) -> None:
        """Take over partitions of a request; without room for them, the session is dropped."""
        if self._sessions.get(session.id) is not session:
            return  # dropped, between two steps
        growth = session.update(partitions, forgotten)
        if growth:
            self._grow(session.owner, growth)
            if growth > 0 and not self._has_room(session.owner, now_ms, sessions=0, partitions=0):
                self._drop(session)

    def _kept(self, session: FetchSession, request: FetchRequest) -> FetchSession | None:
        """The session after the request. If it was dropped, its client works, or begins again, without one."""
        is_new = request.session_epoch == INITIAL_EPOCH
        if self._sessions.get(session.id) is not session:
            if is_new:
                return None
            raise KafkaError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if not is_new and not session.partitions:  # the client forgot all of them
            self._drop(session)
            return None
        return session

    def forget(self, session: FetchSession) -> None:
        """Drop a session without notice to its client."""
        self._drop(session)

    def _drop(self, session: FetchSession) -> None:
        if self._sessions.get(session.id) is not session:
            return  # dropped before, while its last fetch waited
        del self._sessions[session.id]
        del self._shares[session.owner].sessions[session.id]
        self._grow(session.owner, -session.weight)

    def _grow(self, owner: Principal, weight: int) -> None:
        """Note that the sessions of a principal are more, or fewer, or weigh so much more."""
        self.weight += weight
        share = self._shares[owner]
        share.weight += weight
        if not share.sessions:
            del self._shares[owner]
        if self._is_large(share, sessions=0, partitions=0):
            self._large.add(owner)
        else:
            self._large.discard(owner)

    def _is_large(self, share: _Share, *, sessions: int, partitions: int) -> bool:
        """Whether a principal has more than its part, with so many more sessions and partitions."""
        return (
            len(share.sessions) + sessions > max(1, self._sessions_max // FETCH_SESSION_PARTS)
            or share.weight + partitions > self._partitions_max // FETCH_SESSION_PARTS
        )

    def _has_room(self, owner: Principal, now_ms: int, *, sessions: int, partitions: int) -> bool:
        """Whether there is room for so many more, if need be in place of sessions that are unused or too many."""
        while len(self._sessions) + sessions > self._sessions_max or self.weight + partitions > self._partitions_max:
            oldest = next(iter(self._sessions.values()), None)
            if oldest is None:
                return False
            if now_ms - oldest.used_ms < FETCH_SESSION_UNUSED_MS:
                oldest = self._surplus(owner, sessions, partitions)
                if oldest is None:
                    return False
            self._drop(oldest)
        return True

    def _surplus(self, owner: Principal, sessions: int, partitions: int) -> FetchSession | None:
        """The first session of a principal with more than its part; None for who would have more itself."""
        if self._is_large(self._shares.get(owner, _Share()), sessions=sessions, partitions=partitions):
            return None
        return next((each for large in self._large for each in self._shares[large].sessions.values()), None)

    def _make(self, owner: Principal, by_id: bool, now_ms: int) -> FetchSession:
        session_id = 0
        while session_id == 0 or session_id in self._sessions:
            session_id = secrets.randbelow(0x7FFFFFFF) + 1
        session = FetchSession(session_id, owner, by_id, now_ms)
        self._sessions[session_id] = session
        self._shares.setdefault(owner, _Share()).sessions[session_id] = session
        self._grow(owner, 0)
        return session

    def _resume(self, request: FetchRequest, owner: Principal, by_id: bool, now_ms: int) -> FetchSession:
        session = self._sessions.get(request.session_id)
        if session is None or session.owner != owner:
            raise KafkaError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != request.session_epoch:
            raise KafkaError(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        if session.by_id != by_id:
            raise KafkaError(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        session.next_epoch()
        self._sessions.move_to_end(session.id)
        session.used_ms = now_ms  # so that it does not make room for itself
        return session
