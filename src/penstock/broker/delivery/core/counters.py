"""Totals of all subscriptions of a node, for the metrics page."""

from __future__ import annotations


class DeliveryCounters:
    """Messages since the start of the node. They only rise."""

    __slots__ = ("acknowledged", "dead_lettered", "delivered", "expired", "redelivered", "too_large")

    def __init__(self) -> None:
        self.delivered = self.redelivered = self.acknowledged = self.expired = self.dead_lettered = 0
        self.too_large = 0
