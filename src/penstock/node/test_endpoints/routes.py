"""The test endpoints as a FastAPI application below /test, with its own OpenAPI page at /test/docs.

    POST /test/load-from-sqlite   a table of a file below test_data_dir into a topic
    POST /test/inject-messages    messages into a topic
    GET  /test/stats              messages, offsets, consumers and segments of each topic

Writes are answered when they are on disk. An error is a problem+json (RFC 9457), and nothing has changed then.
"""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from pathlib import Path

from fastapi import FastAPI, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount

from penstock import __version__
from penstock.broker.operations.topic_writer import TopicWriters
from penstock.bulk.errors import BulkError, Missing
from penstock.model.batch_builder import NewRecord
from penstock.model.errors import ErrorCode, KafkaError
from penstock.net.http.server import WebApplication, add_problems, documented, problem
from penstock.node.rest.parameters import Asking
from penstock.node.test_endpoints.bodies import InjectBody, LoadBody, StatsBody, WrittenBody, written_body
from penstock.node.test_endpoints.sqlite_load import load
from penstock.node.test_endpoints.stats import BrokerStats
from penstock.security.access import Access
from penstock.security.resources import Operation

PREFIX = "/test"
BODY_BYTES_MAX = 16 << 20
PROBLEMS = documented(HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND, HTTPStatus.SERVICE_UNAVAILABLE)
_FORBIDDEN = (ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
_NOT_FOUND = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,)
_UNAVAILABLE = (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.THROTTLING_QUOTA_EXCEEDED)


def endpoints(writers: TopicWriters, data_dir: Path | None, stats: BrokerStats, access: Access) -> Iterable[BaseRoute]:
    return [Mount(PREFIX, application(writers, data_dir, stats, access))]


def application(writers: TopicWriters, data_dir: Path | None, stats: BrokerStats, access: Access) -> FastAPI:
    """The application; `data_dir` holds the files that may be loaded."""
    app = WebApplication(title="Penstock test endpoints", version=__version__)
    app.add_exception_handler(BulkError, _refused)
    app.add_exception_handler(KafkaError, _refused)
    add_problems(app, body_bytes_max=BODY_BYTES_MAX, what_there_is="see /test/docs for what there is")

    @app.post("/load-from-sqlite", responses=PROBLEMS)
    async def load_from_sqlite(session: Asking, body: LoadBody) -> WrittenBody:
        return await load(writers, data_dir, session, body)

    @app.post("/inject-messages", responses=PROBLEMS)
    async def inject_messages(session: Asking, body: InjectBody) -> WrittenBody:
        records = [
            (
                message.partition,
                NewRecord(
                    None if message.key is None else message.key.encode("utf-8", "surrogatepass"),
                    message.content,
                    tuple((name, value.encode("utf-8", "surrogatepass")) for name, value in message.properties.items()),
                    message.timestamp,
                ),
            )
            for message in body.messages
        ]
        writer = writers.open(session, body.topic)
        writer.check(records)
        await writer.write(records)
        return written_body(body.topic, writer)

    @app.get("/stats")
    async def broker_stats(session: Asking) -> StatsBody:
        access.check_cluster(session, Operation.DESCRIBE)
        return await stats.collect()

    return app


async def _refused(request: Request, error: Exception) -> Response:
    status = HTTPStatus.BAD_REQUEST
    if isinstance(error, Missing) or (isinstance(error, KafkaError) and error.code in _NOT_FOUND):
        status = HTTPStatus.NOT_FOUND
    elif isinstance(error, KafkaError) and error.code in _FORBIDDEN:
        status = HTTPStatus.FORBIDDEN
    elif isinstance(error, KafkaError) and error.code in _UNAVAILABLE:
        status = HTTPStatus.SERVICE_UNAVAILABLE
    return problem(status, str(error), request.url.path)
