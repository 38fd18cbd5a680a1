"""The push door in the node: its parts, its port, its metrics, and its HTTP routes.

GET  /push/subscriptions               every subscription, with its members and whether a refresh is under way
POST /push/subscriptions/{name}/reset  begin a refresh: 202 with its id and the ends
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from prometheus_client.core import Metric

from penstock.broker.broker import Broker
from penstock.broker.delivery.context import DeliveryContext
from penstock.broker.delivery.subscriptions import Subscriptions
from penstock.broker.push.connection import LISTENER
from penstock.broker.push.producers import PushProducers
from penstock.broker.push.publishing import Publisher
from penstock.broker.push.requests import Requests
from penstock.broker.push.server import PushDoor
from penstock.broker.shares import is_bounded
from penstock.config.settings import Settings
from penstock.model.errors import ErrorCode, KafkaError
from penstock.net.admission.door import Door
from penstock.net.http.session_gate import session_of
from penstock.net.interface import ServerOptions
from penstock.net.outbox import Outbox
from penstock.net.tcp import bound_socket
from penstock.net.tls.server import Listening, TlsServer
from penstock.node.errors import StartError
from penstock.node.security.door_plans import DoorPlan
from penstock.observability.metrics import BrokerMetrics
from penstock.observability.timings import histogram
from penstock.security.access import Access
from penstock.security.principal import Principal
from penstock.security.resources import Operation
from penstock.security.session import Session
from penstock.security.tls.certificates import Certificates
from penstock.storage.metadata.store import MetadataStore

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

_STATUS = {
    ErrorCode.GROUP_ID_NOT_FOUND: HTTPStatus.NOT_FOUND,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: HTTPStatus.NOT_FOUND,
    ErrorCode.GROUP_AUTHORIZATION_FAILED: HTTPStatus.FORBIDDEN,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: HTTPStatus.FORBIDDEN,
}


def take_push_port(settings: Settings, plan: DoorPlan, certificates: Certificates | None) -> Listening:
    """StartError if the port is taken; its message says what to do."""
    host, port = plan.host, plan.port
    try:
        if certificates is None:
            return bound_socket(host, port)
        options = ServerOptions(host=host, port=port, backlog=settings.kafka.backlog)
        return TlsServer(options, certificates, handshake_seconds=plan.handshake_ms_max / 1000)
    except OSError as error:
        raise StartError(
            f"cannot listen on {host}:{port} for push clients ({error.strerror}); stop what uses the port, choose"
            " another with --push-port (0 takes a free one), or set push.enabled to false"
        ) from error


def build_push_door(broker: Broker, store: MetadataStore, outbox: Outbox, admission: Door) -> PushDoor:
    """The push door, with its parts. Needs a running event loop."""
    settings, clock, access = broker.settings, broker.clock, broker.access
    topics, partitions = broker.topics, broker.partitions
    context = DeliveryContext(
        settings=settings.push,
        clock=clock,
        definitions=store.subscriptions,
        topics=topics,
        partitions=partitions,
        groups=broker.groups,
        worker=broker.record_worker,
        frontend=broker.controller.topics,
        appender=broker.appender,
        flow=broker.flow,
    )
    subscriptions = Subscriptions(context, outbox)
    publisher = Publisher(
        topics=topics,
        partitions=partitions,
        access=access,
        appender=broker.appender,
        clock=clock,
        call_soon=asyncio.get_running_loop().call_soon,
    )
    requests = Requests(
        subscriptions=subscriptions,
        topics=broker.operations.topics,
        table=topics,
        partitions=partitions,
        access=access,
        settings=settings.push,
    )

    def has_share(principal: str) -> bool:
        kind, _, name = principal.partition(":")
        return is_bounded(access, Session(LISTENER, "", principal=Principal(kind, name)))

    most = settings.push.producers_max
    return PushDoor(
        settings,
        subscriptions=subscriptions,
        producers=PushProducers(
            store.push_producers,
            broker.producer_ids,
            clock,
            most,
            None if broker.producer_rights is None else broker.producer_rights.owners,
            has_share,
        ),
        publisher=publisher,
        requests=requests,
        access=access,
        flow=broker.flow,
        admission=admission,
    )


def connect_push_probes(door: PushDoor, metrics: BrokerMetrics) -> None:
    """Add the metrics of the push door."""
    subscriptions, publisher = door.subscriptions, door.publisher
    counters = subscriptions.counters
    for name, help_text, read in (
        ("penstock_push_connections", "Connections of push clients", lambda: door.connection_count),
        ("penstock_push_subscriptions", "Subscriptions", lambda: len(subscriptions)),
        ("penstock_push_members", "Members of all subscriptions", lambda: subscriptions.member_count),
        ("penstock_push_unacknowledged", "Messages that members have not answered", lambda: subscriptions.in_flight),
        (
            "penstock_push_dead_letters_waiting",
            "Messages that could not be put into their dead-letter topic yet",
            lambda: subscriptions.dead_letter_count,
        ),
    ):
        metrics.add_gauge(name, help_text, read)
    for name, help_text, read in (
        ("penstock_push_connections_total", "Push clients that have connected", lambda: door.opened_total),
        (
            "penstock_push_broken_total",
            "Push connections closed because of a client's error",
            lambda: door.broken_total,
        ),
        (
            "penstock_push_errors_total",
            "Requests of push clients that were refused",
            lambda: sum(door.refusals.values()),
        ),
        ("penstock_push_published_total", "Messages that push clients published", lambda: publisher.published),
        ("penstock_push_duplicates_total", "Messages published again and not stored", lambda: publisher.duplicates),
        ("penstock_push_delivered_total", "Messages sent to members, each time", lambda: counters.delivered),
        ("penstock_push_redelivered_total", "Of those, sent again", lambda: counters.redelivered),
        ("penstock_push_acknowledged_total", "Messages that members have acknowledged", lambda: counters.acknowledged),
        ("penstock_push_dead_letters_total", "Messages put into dead-letter topics", lambda: counters.dead_lettered),
        (
            "penstock_push_too_large_total",
            "Messages not pushed because they do not fit into a frame",
            lambda: counters.too_large,
        ),
        (
            "penstock_expired_messages_total",
            "Messages not pushed because their time was over",
            lambda: counters.expired,
        ),
    ):
        metrics.add_counter(name, help_text, read)
    metrics.add_probe(_Latency(subscriptions))


class _Latency:
    def __init__(self, subscriptions: Subscriptions) -> None:
        self._subscriptions = subscriptions

    def families(self) -> Iterator[Metric]:
        yield histogram(
            "penstock_push_delivery_seconds",
            "Time from a message's timestamp to its first sending, for the first message of every chunk",
            self._subscriptions.latency,
        )


class PushHttp:
    """Routes of the HTTP door."""

    def __init__(self, subscriptions: Subscriptions, access: Access) -> None:
        self._subscriptions = subscriptions
        self._access = access

    def routes(self) -> Iterable[BaseRoute]:
        from starlette.routing import Route

        return [
            Route("/push/subscriptions", self._list),
            Route("/push/subscriptions/{name}/reset", self._reset, methods=["POST"]),
        ]

    async def _list(self, request: Request) -> Response:
        session, access = session_of(request), self._access
        may_see_all = access.shows_cluster(session, Operation.DESCRIBE)
        rows = []
        for row in self._subscriptions.all():
            if not may_see_all and not access.shows_group(session, Operation.DESCRIBE, row.name):
                continue
            live = self._subscriptions.live(row.name)
            rows.append(
                {
                    "name": row.name,
                    "topic": row.topic,
                    "delivery": "key" if row.by_key else "message",
                    "members": 0 if live is None else live.member_count,
                    "unacknowledged": 0 if live is None else live.in_flight,
                    "refresh": row.refresh_id if row.refresh_ends is not None else None,
                }
            )
        return _json(HTTPStatus.OK, {"subscriptions": rows})

    async def _reset(self, request: Request) -> Response:
        name = request.path_params["name"]
        session = session_of(request)
        try:
            self._access.check_group(session, Operation.READ, name)
            self._access.check_topic(session, Operation.READ, self._subscriptions.find(name).topic)
            refresh = await self._subscriptions.reset(name)
        except KafkaError as error:
            status = _STATUS.get(error.code, HTTPStatus.CONFLICT)
            body = {"type": "about:blank", "title": status.phrase, "status": int(status)}
            body |= {"detail": error.message or error.code.name, "instance": request.url.path}
            return _json(status, body, "application/problem+json")
        ends = {str(partition): end for partition, end in sorted(refresh.ends.items())}
        return _json(HTTPStatus.ACCEPTED, {"subscription": name, "refresh_id": refresh.refresh_id, "end_offsets": ends})


def _json(status: HTTPStatus, body: dict[str, Any], media_type: str = "application/json") -> Response:
    from starlette.responses import Response

    return Response(json.dumps(body) + "\n", status_code=status, media_type=media_type)
