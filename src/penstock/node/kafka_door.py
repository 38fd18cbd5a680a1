"""The settings of the Kafka listener, in the terms of `penstock.net`."""

from __future__ import annotations

from penstock.config.settings import Settings
from penstock.net.listener import ListenerOptions
from penstock.net.networks import TCP, network_name
from penstock.net.shared import ConnectionLimits

UNIX = "unix:"


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
