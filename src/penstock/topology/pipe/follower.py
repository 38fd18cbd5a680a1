"""The core of a child: requests to its parent, and the steps that each answer leads to. No I/O, no clock.

    request    the partitions that are followed, each from the end of the child's log on
    digest     every batch is checked (length, CRC-32C, contiguous offsets); returns the steps to take, in order

The position of a partition is the end of its log and is kept nowhere else: a child that restarts begins with a new
follower at the ends of its logs. A driver that cannot carry out the steps of `digest` drops the follower, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from penstock.model.batch import HEADER_BYTES, BatchHeader, Buffer, crc_matches, read_header
from penstock.topology.pipe.wire import LastBatch, PullAnswer, Pulled, PullRequest, Status, Wanted


class BadAnswer(Exception):
    """An answer that cannot be stored. None of it was used, and the parent is asked again."""


class Place(NamedTuple):
    topic: bytes  # the 16 bytes of its id
    partition: int


class Batch(NamedTuple):
    data: memoryview
    header: BatchHeader


class Store(NamedTuple):
    """Append these batches, in order."""

    place: Place
    batches: Sequence[Batch]


class Restart(NamedTuple):
    """Drop the stored records and continue at `offset`. Records from `missing_from` on are lost; -1: none are.

    An empty log that begins after 0 has missed nothing.
    """

    place: Place
    offset: int
    missing_from: int


class Trim(NamedTuple):
    """Delete records below the offset: the parent has deleted them."""

    place: Place
    log_start: int


class Diverge(NamedTuple):
    """Stop following a topic that differs from the parent's. It may not be followed until it is reset."""

    place: Place
    reason: str


class Lose(NamedTuple):
    """Stop following a partition that the parent no longer has."""

    place: Place


Step = Store | Restart | Trim | Diverge | Lose


@dataclass(slots=True)
class Followed:
    """One partition. `last` is sent until the parent has confirmed that it has the same batch."""

    place: Place
    offset: int
    log_start: int
    epoch: int = -1
    last: LastBatch | None = None
    high_watermark: int = -1
    behind_since_ms: int = -1
    ask_again_ms: int = 0  # the partition is not requested before this time: the parent could not answer for it
    trouble: str = ""

    @property
    def lag(self) -> int:
        return max(0, self.high_watermark - self.offset)


class PipeFollower:
    """All partitions that one child follows at one parent."""

    def __init__(self, *, wait_ms: int, bytes_max: int, batches_max: int, pause_ms: int) -> None:
        self._wait_ms = wait_ms
        self._bytes_max = bytes_max
        self._batches_max = batches_max
        self._pause_ms = pause_ms
        self.topics_version = -1
        self.partitions: dict[Place, Followed] = {}

    def follow(self, followed: Followed) -> None:
        """Follow a partition, unless it is followed already."""
        self.partitions.setdefault(followed.place, followed)

    def forget_topic(self, topic: bytes) -> None:
        self.partitions = {place: one for place, one in self.partitions.items() if place.topic != topic}

    # --- asking ------------------------------------------------------------------------------------------------------

    def request(self, now_ms: int, *, wait_ms_max: int | None = None) -> PullRequest:
        asked, wait_ms = [], self._wait_ms if wait_ms_max is None else min(self._wait_ms, wait_ms_max)
        for place, one in self.partitions.items():
            if one.ask_again_ms > now_ms:
                wait_ms = min(wait_ms, one.ask_again_ms - now_ms)
            else:
                asked.append(Wanted(*place, one.offset, one.log_start, one.epoch, one.last))
        return PullRequest(self.topics_version, wait_ms, self._bytes_max, self._batches_max, asked)

    # --- being answered ----------------------------------------------------------------------------------------------

    def digest(self, answer: PullAnswer, now_ms: int) -> list[Step]:
        """The steps to take now. BadAnswer, before anything has changed, if the answer is not valid."""
        found = []
        for pulled in answer.partitions:
            one = self.partitions.get(Place(pulled.topic, pulled.partition))
            if one is None:
                raise BadAnswer(f"partition {pulled.partition} of a topic that was not asked for")
            found.append((one, pulled, list(checked_batches(pulled.records, one.offset))))
        steps: list[Step] = []
        for one, pulled, batches in found:
            steps += self._take(one, pulled, batches, now_ms)
        return steps

    def _take(self, one: Followed, pulled: Pulled, batches: list[Batch], now_ms: int) -> Iterator[Step]:
        status = pulled.status
        one.trouble = pulled.reason
        one.ask_again_ms = 0
        if status is Status.DIVERGED:
            self.partitions.pop(one.place, None)
            yield Diverge(one.place, pulled.reason)
        elif status is Status.UNKNOWN:
            self.partitions.pop(one.place, None)
            yield Lose(one.place)
        elif status in (Status.UNAVAILABLE, Status.BEHIND):
            one.ask_again_ms = now_ms + self._pause_ms
            if status is Status.UNAVAILABLE and one.behind_since_ms < 0:
                one.behind_since_ms = now_ms  # the parent may have more; that is unknown until it answers
            return
        elif status is Status.BELOW_START:
            yield self._restart(one, pulled.log_start)
        else:
            yield from self._advance(one, pulled, batches)
        self._note_lag(one, pulled, now_ms)

    def _restart(self, one: Followed, offset: int) -> Restart:
        if offset <= one.offset:
            raise BadAnswer(f"the parent says that its log starts at {offset}, and that {one.offset} is below")
        is_new = one.offset == one.log_start == 0
        step = Restart(one.place, offset, -1 if is_new else one.offset)
        one.offset = one.log_start = offset
        one.epoch, one.last = -1, None
        return step

    def _advance(self, one: Followed, pulled: Pulled, batches: list[Batch]) -> Iterator[Step]:
        one.last = None
        if batches:
            header = batches[-1].header
            one.offset, one.epoch = header.next_offset, header.leader_epoch
            self.partitions[one.place] = self.partitions.pop(one.place)  # it goes to the back of the queue
            yield Store(one.place, batches)
        if pulled.log_start > one.log_start:
            one.log_start = min(pulled.log_start, one.offset)
            yield Trim(one.place, one.log_start)

    def _note_lag(self, one: Followed, pulled: Pulled, now_ms: int) -> None:
        one.high_watermark = pulled.high_watermark
        if one.lag == 0:
            one.behind_since_ms = -1
        elif one.behind_since_ms < 0:
            one.behind_since_ms = now_ms

    # --- lag ---------------------------------------------------------------------------------------------------------

    @property
    def lag_messages(self) -> int:
        """Offsets that only the parent has, as far as it has reported its ends."""
        return sum(one.lag for one in self.partitions.values())

    def behind_since(self) -> int | None:
        """Time since when some partition has been behind the parent's end."""
        return min((one.behind_since_ms for one in self.partitions.values() if one.behind_since_ms >= 0), default=None)


def checked_batches(records: Buffer, offset: int) -> Iterator[Batch]:
    """The batches from `offset` on. BadAnswer for one that is damaged or out of place."""
    view = memoryview(records)
    position, size = 0, len(view)
    while position < size:
        if size - position < HEADER_BYTES:
            raise BadAnswer(f"{size - position} bytes after the last batch")
        header = read_header(view, position)
        end = position + header.size_bytes
        if header.magic != 2 or header.size_bytes < HEADER_BYTES or end > size:
            raise BadAnswer(
                f"a batch of {header.size_bytes} bytes with magic {header.magic}, {size - position} are there"
            )
        if header.last_offset_delta < 0 or header.record_count < 0:
            raise BadAnswer(f"a batch of {header.record_count} records, last offset delta {header.last_offset_delta}")
        if header.base_offset < offset:
            raise BadAnswer(f"a batch at offset {header.base_offset}, expected was {offset} or above")
        if not crc_matches(view, position, header):
            raise BadAnswer(f"the CRC-32C of the batch at offset {header.base_offset} does not match")
        yield Batch(view[position:end], header)
        position, offset = end, header.next_offset
