"""The Kafka door in the node: its port, and the listener over the gate, the coordinators and what runs beside them."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from functools import partial
from itertools import chain
from typing import NamedTuple

from penstock.broker.broker import Broker
from penstock.broker.dispatcher import Dispatcher
from penstock.broker.gate import Gate
from penstock.broker.produce.timeouts import SWEEP_INTERVAL_MS as PRODUCE_SWEEP_INTERVAL_MS
from penstock.broker.telemetry.telemetry import SWEEP_INTERVAL_MS as TELEMETRY_SWEEP_INTERVAL_MS
from penstock.config.settings import Settings
from penstock.net.admission.door import Door
from penstock.net.admission.ticket import Ticket
from penstock.net.connection.connection import Connection
from penstock.net.connection.shared import ConnectionLimits
from penstock.net.listener import Bound, Listener, ListenerOptions, bind
from penstock.net.login.logins import Logins
from penstock.net.outbox import Outbox
from penstock.node.errors import StartError
from penstock.node.probes import connect_listener_probe
from penstock.node.security.door_plans import DoorPlan
from penstock.node.security.logins import audit_handshakes
from penstock.runtime.periodic import Periodic
from penstock.runtime.plugins import UnknownImplementation
from penstock.security.listener import ListenerSecurity
from penstock.security.tls.certificates import Certificates

logger = logging.getLogger(__name__)


class TakenPort(NamedTuple):
    """A listener whose address is bound."""

    plan: DoorPlan
    options: ListenerOptions
    server: Bound


class KafkaDoor:
    """The listeners of Kafka clients; the first is the one that the node itself is known by."""

    def __init__(self, ports: Sequence[TakenPort], listeners: Sequence[Listener]) -> None:
        self._ports = tuple(ports)
        self._listeners = tuple(listeners)

    @property
    def port(self) -> int:
        return self._listeners[0].port

    @property
    def muted_count(self) -> int:
        return sum(listener.muted_count for listener in self._listeners)

    def connections(self) -> Iterable[Connection]:
        return chain.from_iterable(listener.connections() for listener in self._listeners)

    def hand_over(
        self,
        is_other: Callable[[memoryview], bool | None],
        make: Callable[[ListenerSecurity, Ticket], asyncio.Protocol],
    ) -> None:
        """Hand connections over to another door by their first bytes.

        They keep the security of their listener: else it would be a way around the login.
        """
        for port, listener in zip(self._ports, self._listeners, strict=True):
            listener.hand_over(is_other, partial(make, port.plan.security))

    async def start(self) -> None:
        for (plan, _, server), listener in zip(self._ports, self._listeners, strict=True):
            try:
                await listener.start(server)
            except OSError as error:
                raise _no_port(plan, error) from error
            logger.info("listening", extra={"host": plan.host, "port": listener.port, "listener": plan.security.name})

    def stop_accepting(self) -> None:
        for listener in self._listeners:
            listener.stop_accepting()

    async def drain(self, timeout_seconds: float) -> None:
        await asyncio.gather(*(listener.drain(timeout_seconds) for listener in self._listeners))


def take_kafka_port(settings: Settings, plan: DoorPlan, certificates: Certificates | None) -> TakenPort:
    """Bind the address of a listener. StartError if it cannot be used; its message says what to do."""
    options = listener_options(settings, plan, certificates)
    try:
        return TakenPort(plan, options, bind(options))
    except OSError as error:
        raise _no_port(plan, error) from error
    except (UnknownImplementation, ValueError) as error:
        raise StartError(str(error)) from error


async def open_kafka_door(
    broker: Broker,
    ports: Sequence[TakenPort],
    outbox: Outbox,
    admission: Door,
    closing: AsyncExitStack,
    logins: Logins | None = None,
) -> KafkaDoor:
    """Serve Kafka clients. `closing` goes the other way round: no new requests, waiting ones answered, answers sent.

    Listeners with SASL need `logins`.
    """
    settings = broker.settings
    dispatcher = Dispatcher(broker)
    listeners = []
    for plan, options, server in ports:
        audit_handshakes(server, plan.security, broker.access.audit)
        own_logins = logins if plan.security.protocol.has_sasl else None
        gate = Gate(
            dispatcher, broker.quotas, broker.access, broker.metrics, plan.security, own_logins, plan.advertised
        )
        listeners.append(Listener(options, gate, broker.flow, broker.metrics, admission, outbox))
    door = KafkaDoor(ports, listeners)
    connect_listener_probe(door, broker.metrics)
    closing.callback(asyncio.ensure_future(broker.quotas.resolve_names()).cancel)
    closing.push_async_callback(door.drain, settings.kafka.shutdown_timeout_ms / 1000)
    for sweep in (
        Periodic("telemetry", TELEMETRY_SWEEP_INTERVAL_MS, broker.telemetry.sweep),
        Periodic("produce timeouts", PRODUCE_SWEEP_INTERVAL_MS, broker.produce_timeouts.sweep),
    ):
        sweep.start()
        closing.push_async_callback(sweep.stop)
    await broker.groups.start()
    closing.push_async_callback(broker.groups.stop)
    await broker.transactions.start()
    closing.push_async_callback(broker.transactions.stop)
    await door.start()
    closing.callback(_stop_taking_requests, door, broker)
    return door


def _stop_taking_requests(door: KafkaDoor, broker: Broker) -> None:
    door.stop_accepting()
    for answer_now in tuple(broker.parked):
        answer_now()


def _no_port(plan: DoorPlan, error: OSError) -> StartError:
    if isinstance(error, socket.gaierror):
        return StartError(f"{plan.host} is not an address of this machine ({error.strerror}); change --host")
    return StartError(
        f"cannot listen on {plan.host}:{plan.port} ({error.strerror}); stop what uses the port, or choose another"
        " with --kafka-port and --host"
    )


def listener_options(settings: Settings, plan: DoorPlan, certificates: Certificates | None = None) -> ListenerOptions:
    kafka, limits = settings.kafka, settings.limits
    return ListenerOptions(
        network=plan.network,
        host=plan.host,
        port=plan.port,
        backlog=kafka.backlog,
        receive_buffer_bytes=kafka.receive_buffer_bytes,
        send_buffer_bytes=kafka.send_buffer_bytes,
        idle_ms_max=kafka.idle_timeout_ms,
        connection=ConnectionLimits(
            frame_bytes_max=limits.frame_bytes_max,
            in_flight_max=limits.in_flight_per_connection_max,
            queued_bytes_max=limits.queued_bytes_per_connection_max,
            unread_bytes_max=limits.unread_bytes_per_connection_max,
        ),
        certificates=certificates,
        handshake_ms_max=plan.handshake_ms_max,
    )
