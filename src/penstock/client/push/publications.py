"""Messages under way to the broker: numbered per partition, at most five unanswered, sent again as they were. No I/O.

A message is named for good by client id, epoch and sequence. The sequence is given when it is first sent, and stays
whatever happens to the connection, so that the broker recognises it. Four rules keep the numbers without gaps:

- A message that was sent is kept until it is answered, even if its publisher has stopped waiting for it.
- A refused message leaves a gap, for which the broker refuses those behind it, too. When all of them are answered they
  are numbered again from the gap on: they cannot have been stored.
- Until the first answer in a partition only one message is under way: a broker that knows nothing of a publisher
  takes any first sequence, so the one behind a refused first message might be stored.
- A number that is refused without such a reason means that the broker has forgotten this publisher. When nothing is
  under way any more, a larger epoch begins, in which all numbers begin at 0.
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
    """One message, and who waits for it."""

    topic: str
    partition: int
    key: bytes | None
    body: bytes | None
    properties: Properties
    timestamp: int = BROKER_TIME
    call: Call
    sequence: int = UNNUMBERED
    is_answered: bool = False  # refused for its place behind a gap


class Track:
    """The messages of one partition."""

    __slots__ = ("_gap", "_is_known", "_next", "under_way", "waiting")

    def __init__(self) -> None:
        self.waiting: deque[Publication] = deque()
        self.under_way: deque[Publication] = deque()  # in the order of their sequences
        self.begin()

    def begin(self) -> None:
        """A new epoch. Nothing is under way."""
        self._next = 0
        self._is_known = False
        self._gap: int | None = None

    def to_send(self) -> Iterator[Publication]:
        """Those that may leave now; each gets its sequence."""
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
        """Whether that is final. If not, it was refused only because one before it was, and will be sent again."""
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
        """No more answers will come. Behind a gap none is needed, since nothing was stored there."""
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
        """Of one partition, after something has changed there."""
        if not self._is_forgotten:
            yield from self._tracks[topic, partition].to_send()

    def all_to_send(self) -> Iterator[Publication]:
        """On a new connection: what was under way, as it was and in its order; then what may follow."""
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
        """Whether that is final."""
        is_final = self._tracks[publication.topic, publication.partition].refused(
            publication, for_its_place=for_its_place
        )
        if is_final and for_its_place:
            self._is_forgotten = True
        return is_final

    def renewed(self) -> bool:
        """Whether a new epoch began just now: nothing is under way any more under the one that was forgotten."""
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
        """Everything that is not answered, at the end of the client's life."""
        for track in self._tracks.values():
            yield from track.under_way
            yield from track.waiting
        self._tracks.clear()
