"""The test endpoints as a part of the HTTP port, if the settings ask for them. They load the web stack with it."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

from penstock.broker.broker import Broker
from penstock.node.http import HttpPart

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

logger = logging.getLogger(__name__)


def wanted_endpoints(broker: Broker) -> list[HttpPart]:
    if not broker.settings.http.test_endpoints:
        return []
    logger.warning("the test endpoints are on: anyone who reaches the HTTP port can write messages")

    def routes() -> Iterable[BaseRoute]:
        from penstock.node.test_endpoints.routes import endpoints

        return endpoints(broker)

    return [routes]
