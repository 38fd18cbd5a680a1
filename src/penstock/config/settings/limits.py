"""The most that clients may use: memory, connections, topics, and the metrics that they push."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from penstock.config.settings.values import INT32_MAX, KIB, MIB, Bytes, Count, Millis, Section
from penstock.model import limits


class LimitSettings(Section):
    """Limits that an operator may change; `model.limits` has their reasons."""

    frame_bytes_max: Annotated[Bytes, Field(ge=64 * KIB, le=INT32_MAX)] = limits.FRAME_BYTES_MAX
    """Largest request; a larger one closes its connection."""
    connections_max: Count = limits.CONNECTIONS_MAX
    """Connections of all doors in total; lower if the system allows fewer open files (docs/security.md)."""
    connections_per_address_max: Count = limits.CONNECTIONS_PER_ADDRESS_MAX
    """Connections from one address, to all doors."""
    connection_rate_per_address_max: Annotated[int, Field(ge=0)] = limits.CONNECTION_RATE_PER_ADDRESS_MAX
    """New connections a second from one address, to all doors; 0 for no limit. An address that was quiet may open
    twice as many at once. Clients on the same machine are not limited."""
    in_flight_per_connection_max: Count = limits.IN_FLIGHT_PER_CONNECTION_MAX
    """Requests of one connection that may wait for an answer; above it, reading pauses."""
    queued_bytes_per_connection_max: Annotated[Bytes, Field(ge=64 * KIB)] = limits.QUEUED_BYTES_PER_CONNECTION_MAX
    """Bytes of one connection's requests in memory; above it, reading pauses."""
    queued_bytes_total_max: Annotated[Bytes, Field(ge=1 * MIB)] = limits.QUEUED_BYTES_TOTAL_MAX
    """The same over all connections."""
    unread_bytes_per_connection_max: Annotated[Bytes, Field(ge=64 * KIB)] = limits.UNREAD_BYTES_PER_CONNECTION_MAX
    """Bytes of answers that a client has not read; above it, reading its requests pauses."""
    decompressed_bytes_max: Annotated[Bytes, Field(ge=1 * MIB)] = limits.DECOMPRESSED_BYTES_MAX
    """A batch that decompresses to more than this is refused where its records must be decoded."""
    fetch_bytes_max: Annotated[Bytes, Field(ge=1 * MIB)] = limits.FETCH_BYTES_MAX
    """Most bytes that one fetch returns, whatever the client asks for; a single larger batch is still returned."""
    fetch_sessions_max: Count = limits.FETCH_SESSIONS_MAX
    """Incremental fetch sessions that are kept."""
    group_metadata_bytes_max: Annotated[Bytes, Field(ge=1 * MIB)] = limits.GROUP_METADATA_BYTES_MAX
    """Memory for the metadata and assignments of the members of all groups; above it, joining members have to wait."""
    topics_max: Count = limits.TOPICS_MAX
    """Topics on this node."""
    partitions_max: Count = limits.PARTITIONS_MAX
    """Partitions on this node."""
    partitions_per_topic_max: Count = limits.PARTITIONS_PER_TOPIC_MAX
    """Partitions of one topic."""


class AdvertiseTelemetry(StrEnum):
    SUBSCRIBED = "subscribed"
    ALWAYS = "always"


class TelemetrySettings(Section):
    """Metrics that clients push (KIP-714); what they push is up to the client-metrics subscriptions."""

    advertise: AdvertiseTelemetry = AdvertiseTelemetry.SUBSCRIBED
    """Which clients learn that they can push: subscribed, those that connect while there is a client-metrics
    subscription; always, every client, so that the first subscription reaches clients that are already connected."""

    bytes_max: Annotated[Bytes, Field(ge=1, le=INT32_MAX)] = limits.TELEMETRY_BYTES_MAX
    """Largest push of a client on the wire: Kafka's telemetry.max.bytes."""
    clients_max: Count = limits.TELEMETRY_CLIENTS_MAX
    """Clients that are remembered; beyond that, the one that was silent longest is forgotten."""
    series_per_client_max: Count = limits.TELEMETRY_SERIES_PER_CLIENT_MAX
    """Series of one client on the metrics page; more are counted and left out."""
    series_max: Count = limits.TELEMETRY_SERIES_MAX
    """Series of all clients on the metrics page; more are counted and left out."""
    linger_ms: Millis = 60_000
    """Keep the last values of a client that has gone on the metrics page for this long, to be scraped once more."""
