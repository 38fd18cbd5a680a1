"""The test endpoints as a part of the HTTP port, if the settings ask for them. They load the web stack with it."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

from penstock.broker.groups.coordinator import GroupCoordinator
from penstock.broker.operations.topic_writer import TopicWriters
from penstock.cluster.partitions import PartitionTable
from penstock.cluster.topics import TopicTable
from penstock.config.settings import HttpSettings
from penstock.node.http import HttpPart
from penstock.security.access import Access

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

logger = logging.getLogger(__name__)


def wanted_endpoints(
    settings: HttpSettings,
    *,
    topics: TopicTable,
    partitions: PartitionTable,
    groups: GroupCoordinator,
    writers: TopicWriters,
    access: Access,
) -> list[HttpPart]:
    """The routes; none unless the settings ask for them."""
    if not settings.test_endpoints:
        return []
    # Resolved once: a link that takes its place later leads out of it.
    directory = settings.test_data_dir.resolve() if settings.test_data_dir is not None else None
    logger.warning("the test endpoints are on: anyone who reaches the HTTP port can write messages")

    def routes() -> Iterable[BaseRoute]:
        from penstock.node.test_endpoints.routes import endpoints
        from penstock.node.test_endpoints.stats import BrokerStats

        return endpoints(writers, directory, BrokerStats(topics, partitions, groups), access)

    return [routes]
