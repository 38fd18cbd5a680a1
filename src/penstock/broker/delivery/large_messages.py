"""Large messages on their way to members: what all subscriptions of a node together may take for them.

    unpacking   batches that unpack to much, and what was read of them
    unsent      what members have been sent and do not read

A message that does not fit into a frame is never sent: it is done, as one that has expired. Reading goes on behind it.
"""

from __future__ import annotations

import logging
from typing import Final

from penstock.broker.delivery.core.subscription import Subscription
from penstock.broker.delivery.reading.unpacking import Unpacking
from penstock.broker.delivery.unsent import Unsent
from penstock.model.counted import counted
from penstock.model.limits import PUSHED_PROPERTIES_MAX
from penstock.net.flow_control import FlowControl
from penstock.observability.repeats import Repeats
from penstock.protocol.push.data import frame_room

logger = logging.getLogger(__name__)

LINES_MAX: Final = 100
"""Lines a minute about messages that are too large, one for each topic."""


class LargeMessages:
    """One for all subscriptions. Loop thread."""

    def __init__(self, frame_bytes_max: int, flow: FlowControl) -> None:
        self._frame_bytes_max = frame_bytes_max
        self.unpacking = Unpacking()
        self.unsent = Unsent(flow)
        self._lines = Repeats(logger, total_max=LINES_MAX)

    def item_bytes_max(self, core: Subscription) -> int:
        """The largest message that is sent to a subscription's members."""
        return frame_room(core.name, core.topic, self._frame_bytes_max)

    def left_out(self, core: Subscription, partition: int, count: int, first_offset: int) -> None:
        """Count and report messages that were too large."""
        core.counters.too_large += count
        self._lines.warning(
            core.topic,
            "%s: %s of %s-%d from offset %d on cannot be pushed and %s skipped: a frame has at most %d bytes"
            " (push.frame_bytes_max) and a message %d headers; Kafka clients can read them",
            core.name[:249], counted(count, "message"), core.topic, partition, first_offset,
            "is" if count == 1 else "are", self._frame_bytes_max, PUSHED_PROPERTIES_MAX,
        )  # fmt: skip
