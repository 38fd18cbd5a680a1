"""Reaction to bytes that are not what was written: no more writes, no reads from there on, a report to the engine."""

from __future__ import annotations

from penstock.model.errors import ErrorCode, KafkaError
from penstock.storage.admission.status import Status
from penstock.storage.interface import LogState
from penstock.storage.log.context import DamageFound, LogIdentity, OnDamage
from penstock.storage.log.segment_list import SegmentList
from penstock.storage.segment.segment import Segment


class DamageReporter:
    """Used by reads, look-ups, compaction and the scrub. Any thread."""

    __slots__ = ("_identity", "_on_damage", "_segments", "_status")

    def __init__(self, identity: LogIdentity, segments: SegmentList, status: Status, on_damage: OnDamage) -> None:
        self._identity = identity
        self._segments = segments
        self._status = status
        self._on_damage = on_damage

    def found(self, segment: Segment, position: int, offset: int, reason: str) -> KafkaError:
        """Report that the batch at `position`, where `offset` should be, is wrong. Returns the error to raise.

        A segment that retention or compaction took away meanwhile damages nothing.
        """
        if segment in self._segments.all and self._status.state is not LogState.OFFLINE:
            is_inside = segment.base_offset <= offset <= segment.end_offset
            self._status.damage(offset if is_inside else segment.base_offset)
            found = DamageFound(position, f"{segment.path.name}: {reason}", self._status.readable_end)
            self._on_damage(self._identity, found)
        return KafkaError(ErrorCode.CORRUPT_MESSAGE, f"{segment.path.name}: {reason} at byte {position}")
