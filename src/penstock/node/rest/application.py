"""The admin API as a FastAPI application, with its OpenAPI page at /api/v1/docs. Built in a thread.

Here the routes are given the parts of the broker that they use; no route sees the broker as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from fastapi import APIRouter, Depends, FastAPI
from fastapi.routing import APIRoute

from penstock import __version__
from penstock.broker.broker import Broker
from penstock.broker.delivery.subscriptions import Subscriptions
from penstock.net.http.login.web_sessions import WebSessions
from penstock.net.http.server import WebApplication
from penstock.net.open_connections import OpenConnections
from penstock.node.rest.bodies import ProblemBody
from penstock.node.rest.cluster import ClusterRoutes
from penstock.node.rest.configs import ConfigRoutes
from penstock.node.rest.documented import ANY
from penstock.node.rest.groups import GroupRoutes, KnownGroups
from penstock.node.rest.messages import MessageRoutes
from penstock.node.rest.offsets import OffsetRoutes
from penstock.node.rest.parameters import no_unknown_parameters
from penstock.node.rest.part import PREFIX
from penstock.node.rest.problems import add_admin_problems
from penstock.node.rest.security.connections import ConnectionRoutes
from penstock.node.rest.security.session import SessionRoutes
from penstock.node.rest.security.tokens import TokenRoutes
from penstock.node.rest.topics import TopicRoutes
from penstock.node.rest.transactions import TransactionRoutes

DESCRIPTION = """Topics, configs, groups, offsets, messages, transactions, tokens and connections of a Penstock node.

Lists come in pages: pass `next_cursor` as `cursor` until it is null. An error is a problem (RFC 9457) with
Kafka's name of the error in `error`, and the remedy in `detail`; nothing has changed then. A change is durable when
it is answered.
"""


def application(
    broker: Broker,
    subscriptions: Subscriptions | None,
    kafka_port: Callable[[], int],
    sessions: WebSessions | None,
    connections: OpenConnections,
) -> FastAPI:
    """Build the application, to be mounted at PREFIX."""
    app = AdminApplication(
        title="Penstock admin API",
        version=__version__,
        description=DESCRIPTION,
        responses=ANY,
        dependencies=[Depends(no_unknown_parameters)],
        servers=[{"url": PREFIX}],
        root_path_in_servers=False,
        redirect_slashes=False,
        generate_unique_id_function=_operation_id,
    )
    add_admin_problems(app)
    for router in _routers(broker, subscriptions, kafka_port):
        app.include_router(router)
    app.include_router(SessionRoutes(sessions).router)
    app.include_router(ConnectionRoutes(connections, sessions, broker.access).router)
    app.openapi()  # here, in the thread, and not on the event loop at the first request for it
    return app


def _routers(broker: Broker, subscriptions: Subscriptions | None, kafka_port: Callable[[], int]) -> Iterator[APIRouter]:
    """The routes, each with the parts of the broker that they use."""
    operations, topics, partitions = broker.operations, broker.topics, broker.partitions
    node_id = broker.node_id
    yield ClusterRoutes(
        settings=broker.settings,
        cluster_id=broker.cluster_id,
        topics=topics,
        partitions=partitions,
        accepts_writes=broker.engine.accepts_writes,
        access=broker.access,
        kafka_port=kafka_port,
    ).router
    yield TopicRoutes(
        topics=operations.topics,
        table=topics,
        partitions=partitions,
        node_id=node_id,
        subscriptions=subscriptions,
        access=broker.access,
    ).router
    yield ConfigRoutes(operations.topics, operations.config_descriptions, operations.config_changes, node_id).router
    yield MessageRoutes(operations.topics, partitions, operations.topic_writers, broker.record_worker).router
    known = KnownGroups(broker.groups, operations.groups, broker.access, subscriptions)
    yield GroupRoutes(known).router
    yield OffsetRoutes(
        known,
        groups=broker.groups,
        offsets=operations.offsets,
        topics=operations.topics,
        table=topics,
        partitions=partitions,
        worker=broker.record_worker,
        clock=broker.clock,
    ).router
    yield TransactionRoutes(broker.transactions, operations.topics, broker.access, broker.clock).router
    lifetime_ms = broker.settings.security.token_lifetime_ms
    yield TokenRoutes(broker.controller.tokens, broker.access, broker.clock, lifetime_ms).router


def _operation_id(route: APIRoute) -> str:
    return route.name


class AdminApplication(WebApplication):
    def openapi(self) -> dict[str, Any]:
        """The OpenAPI document with the problem of all routes, and without FastAPI's own, which is never answered."""
        if self.openapi_schema is None:
            schema = super().openapi()
            schemas = schema["components"]["schemas"]
            for name in ("HTTPValidationError", "ValidationError"):
                schemas.pop(name, None)
            schemas["ProblemBody"] = ProblemBody.model_json_schema()
            for operation in (each for path in schema["paths"].values() for each in path.values()):
                operation["responses"].pop("422", None)
        assert self.openapi_schema is not None
        return self.openapi_schema
