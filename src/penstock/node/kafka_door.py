"""The Kafka door in the node: its port, and the listener over the gate, the coordinators and what runs beside them."""

from __future__ import annotations

import asyncio
import socket
from contextlib import AsyncExitStack

from penstock.broker.broker import Broker
from penstock.broker.dispatcher import Dispatcher
from penstock.broker.gate import Gate
from penstock.broker.produce.timeouts import SWEEP_INTERVAL_MS as PRODUCE_SWEEP_INTERVAL_MS
from penstock.broker.telemetry.telemetry import SWEEP_INTERVAL_MS as TELEMETRY_SWEEP_INTERVAL_MS
from penstock.config.settings import KafkaSettings, Settings
from penstock.net.interface import NetworkServer
from penstock.net.listener import Listener, ListenerOptions, bind
from penstock.net.networks import TCP, network_name
from penstock.net.outbox import Outbox
from penstock.net.shared import ConnectionLimits
from penstock.node.errors import StartError
from penstock.node.probes import connect_listener_probe
from penstock.runtime.periodic import Periodic
from penstock.runtime.plugins import UnknownImplementation

UNIX = "unix:"


def take_kafka_port(settings: Settings) -> NetworkServer:
    """StartError if the address cannot be used; its message says what to do."""
    try:
        return bind(listener_options(settings))
    except OSError as error:
        raise _no_port(settings.kafka, error) from error
    except (UnknownImplementation, ValueError) as error:
        raise StartError(str(error)) from error


async def open_kafka_door(broker: Broker, server: NetworkServer, outbox: Outbox, closing: AsyncExitStack) -> Listener:
    """Serve Kafka clients. `closing` goes the other way round: no new requests, waiting ones answered, answers sent."""
    settings = broker.settings
    gate = Gate(Dispatcher(broker), broker.quotas, broker.access, broker.metrics)
    listener = Listener(listener_options(settings), gate, broker.flow, broker.metrics, outbox)
    connect_listener_probe(listener, broker.metrics)
    closing.callback(asyncio.ensure_future(broker.quotas.resolve_names()).cancel)
    closing.push_async_callback(listener.drain, settings.kafka.shutdown_timeout_ms / 1000)
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
    try:
        await listener.start(server)
    except OSError as error:
        raise _no_port(settings.kafka, error) from error
    closing.callback(_stop_taking_requests, listener, broker)
    return listener


def _stop_taking_requests(listener: Listener, broker: Broker) -> None:
    listener.stop_accepting()
    for answer_now in tuple(broker.parked):
        answer_now()


def _no_port(kafka: KafkaSettings, error: OSError) -> StartError:
    if isinstance(error, socket.gaierror):
        return StartError(f"{kafka.host} is not an address of this machine ({error.strerror}); change --host")
    return StartError(
        f"cannot listen on {kafka.host}:{kafka.port} ({error.strerror}); stop what uses the port, or choose another"
        " with --kafka-port and --host"
    )


def listener_address(settings: Settings) -> tuple[str, str]:
    """The network and its address. An address that names its network wins over the default."""
    host, network = settings.kafka.host, settings.network.type
    if network == TCP:
        return network_name(host, 0) if host.startswith(UNIX) else TCP, host
    if network == "unix" and not host.startswith(UNIX):
        host = f"{UNIX}{settings.node.data_dir.absolute()}.sock"  # not in it: the directory is not ours yet
    return network, host


def listener_options(settings: Settings) -> ListenerOptions:
    kafka, limits = settings.kafka, settings.limits
    network, host = listener_address(settings)
    return ListenerOptions(
        network=network,
        host=host,
        port=kafka.port,
        backlog=kafka.backlog,
        receive_buffer_bytes=kafka.receive_buffer_bytes,
        send_buffer_bytes=kafka.send_buffer_bytes,
        connections_max=limits.connections_max,
        connections_per_address_max=limits.connections_per_address_max,
        idle_ms_max=kafka.idle_timeout_ms,
        connection=ConnectionLimits(
            frame_bytes_max=limits.frame_bytes_max,
            in_flight_max=limits.in_flight_per_connection_max,
            queued_bytes_max=limits.queued_bytes_per_connection_max,
            unread_bytes_max=limits.unread_bytes_per_connection_max,
        ),
    )
