"""The settings of the Kafka listener, in the terms of `penstock.net`."""

from __future__ import annotations

from penstock.config.settings import Settings
from penstock.net.listener import ListenerOptions
from penstock.net.shared import ConnectionLimits


def listener_options(settings: Settings) -> ListenerOptions:
    kafka, limits = settings.kafka, settings.limits
    return ListenerOptions(
        host=kafka.host,
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
