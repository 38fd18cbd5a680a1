"""The content of a log's directory, as recovery found it: what a log is opened with. Can be pickled."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.storage.admission.epochs import Epochs
from penstock.storage.admission.producer_state import Producers
from penstock.storage.segment.segment import Segment


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """Where a log stops being what was written, and how far it can be read."""

    base_offset: int
    position: int
    readable_end: int
    reason: str


@dataclass(slots=True, kw_only=True)
class RecoveredLog:
    """Segments, their end, and what was rebuilt on the way. `notes` are for the operator."""

    segments: list[Segment] = field(default_factory=list)
    log_start: int = 0
    log_end: int = 0
    producers: Producers = field(default_factory=Producers)
    epochs: Epochs = field(default_factory=Epochs)
    snapshot_end: int = -1
    scanned_bytes: int = 0
    cut_bytes: int = 0
    damage: Damage | None = None
    notes: list[str] = field(default_factory=list)
