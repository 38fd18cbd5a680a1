"""Finding aborted transactions: through the indexes of segments, or, where one is lost, through the batches.

The caller brings the segments, and the walks over their batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol, TypeVar

from penstock.model.batch import BatchHeader
from penstock.model.control_record import Marker
from penstock.model.errors import KafkaError
from penstock.storage.admission.undecided import Transactions
from penstock.storage.segment.aborted_index import UNKNOWN_STABLE, AbortedEntry, AbortedIndex
from penstock.storage.segment.batch_scanner import BatchScanner


class IndexedSegment(Protocol):
    """A segment, as far as its aborted transactions go."""

    base_offset: int
    aborted: AbortedIndex | None


AnySegment = TypeVar("AnySegment", bound=IndexedSegment)
Walk = Iterable[tuple[BatchHeader, Marker | None]]
"""The transactional batches of a segment, and what is in those that are control batches."""


def search(
    segments: Sequence[AnySegment], first: int, start: int, end: int, whole: Callable[[AnySegment, AbortedIndex], None]
) -> Iterator[AbortedEntry]:
    """Find entries whose marker is at or above `start` and whose first offset is below `end`.

    `first` is the index of the segment that holds `start`; `whole` makes an index whole.
    """
    for at in range(first, len(segments)):
        index = segments[at].aborted
        if index is None or index.summary.lowest >= end:
            continue
        if not index.is_whole:
            whole(segments[at], index)
        for entry in index.since(start):
            if entry.first_offset < end:
                yield entry
            if entry.last_stable >= end:
                return  # every transaction aborted later began later


def transactional(scanner: BatchScanner) -> Iterator[tuple[BatchHeader, Marker | None]]:
    """The batches of transactions among those that are scanned, as a `Walk`."""
    for position, header in scanner:
        if header.is_transactional and header.producer_id >= 0:
            marker = None
            if header.is_control:
                try:
                    marker = scanner.marker_at(position, header)
                except KafkaError:
                    continue  # a control batch of another kind
            yield header, marker


def rebuild(segments: Sequence[AnySegment], walk: Callable[[AnySegment], Walk]) -> list[AbortedEntry]:
    """The aborted transactions of the last of these segments. Those before it are walked over, from the last on, until
    it is clear where each transaction began.
    """
    found: dict[int, AbortedEntry] = {}
    unclear: dict[int, int] = {}  # producer id: offset of the marker of a transaction that may have begun before
    ended: set[int] = set()
    transactions = Transactions()
    for header, marker in walk(segments[-1]):
        producer_id, offset = header.producer_id, header.base_offset
        entry = transactions.follow(header, marker)
        if entry is not None:
            found[offset] = entry._replace(last_stable=UNKNOWN_STABLE)
        if marker is not None and producer_id not in ended:
            ended.add(producer_id)
            if not marker.is_commit:
                unclear[producer_id] = offset
    for segment in reversed(segments[:-1]):
        if not unclear:
            break
        earlier, ended = Transactions(), set()
        for header, marker in walk(segment):
            if header.producer_id in unclear:
                earlier.follow(header, marker)
                if marker is not None:
                    ended.add(header.producer_id)
        for producer_id, start in earlier.open.items():
            found[unclear[producer_id]] = AbortedEntry(producer_id, start, unclear[producer_id], UNKNOWN_STABLE)
        unclear = {producer_id: offset for producer_id, offset in unclear.items() if producer_id not in ended}
    return [found[offset] for offset in sorted(found)]
