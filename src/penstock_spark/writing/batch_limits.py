"""How large record batches and records may be, and how long rows are gathered for them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class BatchLimits:
    batch_bytes: int = 512 << 10
    """Size limit of a batch before compression. A single record may be larger."""
    record_bytes: int | None = None
    """Size limit of a record; None: the broker decides."""
    linger_s: float | None = None
    """How long rows are gathered while more come; None: until there are enough."""


USUAL = BatchLimits()
