"""Messages in flight to the broker: numbered per partition, at most five unanswered, retried unchanged. No I/O.

Client id, epoch and sequence identify a message permanently. The sequence is given when it is first sent, and stays
whatever happens to the connection, so that the broker recognises it. Four rules keep the sequences without gaps:

- A message that was sent is kept until it is answered, even if its publisher has stopped waiting for it.
- A refused message leaves a gap, because of which the broker refuses those behind it, too. When all of them are
  answered they are numbered again from the gap on: they cannot have been stored.
- Until the first answer in a partition only one message is in flight: a broker that does not know a publisher accepts
  any first sequence, so the message behind a refused first one might be stored.
- A sequence that is refused without such a reason means that the broker has forgotten this publisher. When nothing is
  in flight any more, a larger epoch begins, in which all sequences begin at 0.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from penstock.client.push.calls import Call
from penstock.protocol.push.messages import BROKER_TIME, Publish
from penstock.protocol.push.properties import Properties

UNANSWERED_MAX = 5
UNNUMBERED = -1


@dataclass(slots=True, kw_only=True, eq=False)
class Publication:
    """One message, and the call that waits for it."""

    topic: str
    partition: int
    key: bytes | None
    body: bytes | None
    properties: Properties
    timestamp: int = BROKER_TIME
    call: Call
    sequence: int = UNNUMBERED
    is_answered: bool = False  # refused because it is behind a gap


class Track:
    """The messages of one partition."""

    __slots__ = ("_gap", "_is_known", "_next", "under_way", "waiting")

    def __init__(self) -> None:
        self.waiting: deque[Publication] = deque()
        self.under_way: deque[Publication] = deque()  # in the order of their sequences
        self.begin()

    def begin(self) -> None:
        """Begin a new epoch; nothing may be in flight."""
        self._next = 0
        self._is_known = False
        self._gap: int | None = None

    def to_send(self) -> Iterator[Publication]:
        """The publications that may be sent now; each gets its sequence."""
        if self._gap is not None:
            return
        limit = UNANSWERED_MAX if self._is_known else 1
        while self.waiting and len(self.under_way) < limit:
            publication = self.waiting.popleft()
            publication.sequence = self._next
            self._next += 1
            self.under_way.append(publication)
            yield publication

    def stored(self, publication: Publication) -> None:
        self._is_known = True
        self.under_way.remove(publication)

    def refused(self, publication: Publication, *, for_its_place: bool) -> bool:
        """Note a refusal.

        Returns whether it is final; if not, the message is only behind a gap and will be sent again.
        """
        if for_its_place and self._gap is not None and publication.sequence > self._gap:
            publication.is_answered = True
            self._close_gap()
            return False
        self.under_way.remove(publication)
        if self._gap is None or publication.sequence < self._gap:
            self._gap = publication.sequence
        self._close_gap()
        return True

    def disconnected(self) -> None:
        """Note that no more answers will come. Messages behind a gap need none, since they were not stored."""
        if self._gap is not None:
            for publication in self.under_way:
                publication.is_answered = publication.sequence > self._gap
            self._close_gap()

    def withdraw(self, publication: Publication) -> bool:
        """Give up on a publication. True if it will never be sent; otherwise it may be stored or not."""
        if publication.sequence != UNNUMBERED:
            return False
        try:
            self.waiting.remove(publication)
        except ValueError:
            return False
        return True

    def _close_gap(self) -> None:
        assert self._gap is not None
        behind = [publication for publication in self.under_way if publication.sequence > self._gap]
        if not all(publication.is_answered for publication in behind):
            return
        for publication in reversed(behind):
            self.under_way.pop()
            publication.sequence, publication.is_answered = UNNUMBERED, False
            self.waiting.appendleft(publication)
        self._next, self._gap = self._gap, None


class Publications:
    """All partitions of one client."""

    def __init__(self, client_id: str, epoch: int) -> None:
        self._client_id = client_id
        self._epoch = epoch
        self._tracks: dict[tuple[str, int], Track] = {}
        self._is_forgotten = False

    def add(self, publication: Publication) -> None:
        place = publication.topic, publication.partition
        if place not in self._tracks:
            self._tracks[place] = Track()
        self._tracks[place].waiting.append(publication)

    def to_send(self, topic: str, partition: int) -> Iterator[Publication]:
        """The publications of one partition that may be sent, after something has changed there."""
        if not self._is_forgotten:
            yield from self._tracks[topic, partition].to_send()

    def all_to_send(self) -> Iterator[Publication]:
        """The publications for a new connection: those in flight before, unchanged and in order, then the next ones."""
        for track in self._tracks.values():
            yield from track.under_way
            if not self._is_forgotten:
                yield from track.to_send()

    def encoded(self, publication: Publication) -> Publish:
        return Publish(
            self._client_id,
            self._epoch,
            publication.sequence,
            publication.topic,
            publication.partition,
            publication.key,
            publication.body,
            publication.properties,
            publication.timestamp,
        )

    def stored(self, publication: Publication) -> None:
        self._tracks[publication.topic, publication.partition].stored(publication)

    def refused(self, publication: Publication, *, for_its_place: bool) -> bool:
        """Note a refusal. Returns whether it is final."""
        is_final = self._tracks[publication.topic, publication.partition].refused(
            publication, for_its_place=for_its_place
        )
        if is_final and for_its_place:
            self._is_forgotten = True
        return is_final

    def renewed(self) -> bool:
        """Begin a new epoch if the broker has forgotten the old one and nothing is in flight.

        Returns whether it began.
        """
        if not self._is_forgotten or any(track.under_way for track in self._tracks.values()):
            return False
        self._is_forgotten = False
        self._epoch += 1
        for track in self._tracks.values():
            track.begin()
        return True

    def disconnected(self) -> None:
        for track in self._tracks.values():
            track.disconnected()

    def withdraw(self, publication: Publication) -> bool:
        return self._tracks[publication.topic, publication.partition].withdraw(publication)

    def clear(self) -> Iterator[Publication]:
        """Remove and return everything that is not answered, when the client ends."""
        for track in self._tracks.values():
            yield from track.under_way
            yield from track.waiting
        self._tracks.clear()
