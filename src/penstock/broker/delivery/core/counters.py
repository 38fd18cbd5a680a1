"""What has happened in all subscriptions of a node, for the metrics."""

from __future__ import annotations


class Tally:
    __slots__ = ("acknowledged", "dead", "delivered", "expired", "redelivered")

    def __init__(self) -> None:
        self.delivered = self.redelivered = self.acknowledged = self.expired = self.dead = 0
