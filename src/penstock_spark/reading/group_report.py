"""The report of a streaming query's progress to a consumer group, so that its lag can be seen like any other."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping

from penstock.client.cluster import Cluster
from penstock.client.connection import BrokerUnavailable
from penstock.client.offsets import commit_offsets
from penstock.client.security.properties import ClientSecurity
from penstock.model.errors import KafkaError
from penstock.model.topic_partition import TopicPartition
from penstock_spark.refusals import remedy_of

logger = logging.getLogger(__name__)

AGAIN_S = 30.0


class GroupReport:
    """What was reported so far. A failure to report does not fail the query."""

    def __init__(self, security: ClientSecurity) -> None:
        self._security = security
        self._reported: dict[TopicPartition, int] = {}
        self._not_before = 0.0

    def tell(self, cluster: Cluster, group: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Report those offsets that have moved."""
        moved = {place: offset for place, offset in offsets.items() if self._reported.get(place) != offset}
        if not moved or time.monotonic() < self._not_before:
            return
        try:
            commit_offsets(cluster, group, moved)
            self._reported.update(moved)
        except (BrokerUnavailable, KafkaError) as error:
            remedy = remedy_of(error, self._security) if isinstance(error, KafkaError) else None
            if remedy:  # an idle query comes here twenty times a second, and a right is not given as soon
                self._not_before = time.monotonic() + AGAIN_S
            logger.warning("progress is not reported to the group %s: %s. %s", group, error, remedy or "")
