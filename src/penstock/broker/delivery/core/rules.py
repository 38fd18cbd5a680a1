"""The limits that a subscription obeys."""

from __future__ import annotations

from typing import NamedTuple


class Rules(NamedTuple):
    ack_timeout_ms: int = 30_000
    redelivery_delay_ms: int = 100
    deliveries_max: int = 10
    losses_max: int = 3
    """Deliveries of a message that ended without an answer, before members get one message at a time."""
    unfinished_max: int = 100_000
    """Messages of a partition that are with members; an answer for a long range looks at all of them."""
    done_ranges_max: int = 1_500
    """Ranges above the committed position that are stored with it; with more, nothing new is sent for a while."""
