"""Where clients come in: the Kafka door, the push door, and HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field, field_validator

from penstock.config.settings.values import (
    INT32_MAX,
    KIB,
    MIB,
    Bytes,
    Count,
    Host,
    HostName,
    Millis,
    Port,
    Section,
    split_list,
)
from penstock.model import limits
from penstock.model.text.http_url import check_no_credentials


class KafkaSettings(Section):
    host: Host = "127.0.0.1"
    """Address to listen on; 0.0.0.0 for all, unix:/path for a socket in the file system."""
    port: Port = 9092
    """Port of the Kafka door; 0 takes a free one."""
    advertised: str | None = None
    """host:port given to clients that cannot use the address they came in on (NAT, a proxy, a certificate that names a
    host); a host alone keeps the port."""
    backlog: Count = 1024
    """Connections that the system queues before they are accepted."""
    receive_buffer_bytes: Bytes = 0
    """SO_RCVBUF of each connection; 0 leaves it to the system, which grows it as needed."""
    send_buffer_bytes: Bytes = 0
    """SO_SNDBUF of each connection; 0 leaves it to the system."""
    idle_timeout_ms: Millis = limits.CONNECTION_IDLE_MS_MAX
    """Close a connection without a request for this long."""
    first_request_timeout_ms: Annotated[int, Field(ge=100, le=600_000)] = limits.FIRST_REQUEST_MS_MAX
    """Close a connection that after this time has not sent a complete request, or has not logged in where it has to."""
    shutdown_timeout_ms: Millis = 10_000
    """How long a stop waits for pending answers."""

    @field_validator("advertised")
    @classmethod
    def _host_and_port(cls, value: str | None) -> str | None:
        if value:
            split_advertised(check_no_credentials(value))
        return value or None

    @property
    def advertised_address(self) -> tuple[str, int] | None:
        """Host and port; a port of 0 is the one that the client came in on."""
        return split_advertised(self.advertised) if self.advertised else None


def split_advertised(text: str) -> tuple[str, int]:
    """host:port, or a host alone, whose port is 0 then."""
    is_host = text.startswith("[") and text.endswith("]") if ":" in text else True
    return (split_address(f"{text}:1")[0], 0) if is_host else split_address(text)


def split_address(text: str) -> tuple[str, int]:
    """host:port, with brackets around an IPv6 address."""
    host, colon, port = text.rpartition(":")
    if not colon or not host.strip("[]") or not port.isdecimal() or not 0 < int(port) < 65536:
        raise ValueError(f"expected host:port, such as broker.example:9092, not {text!r}")
    if ":" in host and not (host.startswith("[") and host.endswith("]")):
        raise ValueError(f"write an IPv6 address in brackets: [{host}]:{port}")
    return host.strip("[]"), int(port)


class NetworkSettings(Section):
    type: Annotated[str, Field(min_length=1)] = "tcp"
    """How Kafka clients come in: tcp, unix (a socket in the file system), or the name of an entry point
    penstock.network. A kafka.host such as unix:/run/penstock.sock is enough to say unix; with unix alone the socket
    lies beside the data directory and has its name and .sock."""


class HttpSettings(Section):
    enabled: bool = True
    """Serve /health, /metrics and the admin API."""
    host: Host = "127.0.0.1"
    """Address to listen on."""
    port: Port = 8080
    """Port of /health and /metrics; 0 takes a free one."""
    allowed_hosts: Annotated[tuple[HostName, ...], BeforeValidator(split_list)] = ()
    """Names under which clients address this port, as in http://broker.example:8080. Addresses, localhost, the name of
    the machine, and the hosts of http.host, kafka.advertised, listeners and registry.advertised_url need not be given.
    A request under any other name is refused with 421."""
    header_timeout_ms: Annotated[int, Field(ge=100, le=600_000)] = 10_000
    """Close a connection whose request header is not complete after this time."""
    idle_timeout_ms: Annotated[int, Field(ge=100, le=600_000)] = 5_000
    """Close a connection that is not used again this long after an answer."""
    stall_timeout_ms: Annotated[int, Field(ge=100, le=600_000)] = 30_000
    """Close a connection whose client sends a body, or reads an answer, at less than 500 bytes a second for this
    long."""
    session_idle_ms: Annotated[int, Field(ge=1_000, le=86_400_000)] = 1_800_000
    """End the session of a browser that makes no request for this long."""
    session_ms_max: Annotated[int, Field(ge=1_000, le=30 * 86_400_000)] = 12 * 3_600_000
    """End the session of a browser this long after it logged in, however much it is used."""
    admin_api: bool = True
    """Serve /api/v1, which reads and changes topics and groups: for every client that reaches this port, unless it asks
    for a login (docs/security.md#who-asks)."""
    test_endpoints: bool = False
    """Serve /test, which writes messages: for every client that reaches this port, unless it asks for a login. For
    tests and trials."""
    test_data_dir: Path | None = None
    """Directory of the SQLite files that /test/load-from-sqlite may read; not one around node.data_dir, or in it."""


class PushSettings(Section):
    """The push door: subscriptions for clients that do not speak Kafka."""

    enabled: bool = True
    """Open the push door, and recognise push clients at the Kafka port."""
    host: Host | None = None
    """Address to listen on; that of the Kafka port if it is not set, 127.0.0.1 if that is a unix socket."""
    port: Port = 9999
    """Port of the push door; 0 takes a free one."""
    credit: Annotated[int, Field(ge=1, le=100_000)] = 100
    """Messages that a member may have unacknowledged, unless it asks for another number."""
    credit_max: Annotated[int, Field(ge=1, le=1_000_000)] = 10_000
    """Highest credit of a member, whatever it asks for."""
    messages_per_frame: Annotated[int, Field(ge=1, le=1_000)] = 10
    """Messages in a DATA frame, unless a member asks for another number."""
    ack_timeout_ms: Annotated[int, Field(ge=100)] = 30_000
    """Send a message that is not acknowledged for this long to another member."""
    redelivery_delay_ms: Millis = 100
    """Time before a message that a member has given back is sent again."""
    deliveries_max: Annotated[int, Field(ge=1, le=1_000)] = 10
    """A message that was sent this many times without an acknowledgement goes to the dead-letter topic."""
    heartbeat_interval_ms: Annotated[int, Field(ge=100)] = 30_000
    """A side that is silent for this long sends a heartbeat; after three intervals without a byte a peer is dead."""
    frame_bytes_max: Annotated[Bytes, Field(ge=64 * KIB, le=INT32_MAX)] = 16 * MIB
    """Largest frame, in both directions. A longer one of a client closes its connection; a message that does not fit is
    not pushed, but skipped."""
    commit_interval_ms: Annotated[int, Field(ge=0, le=1_000)] = 20
    """Positions are stored at most this often; changes in between are stored together."""
    subscriptions_max: Count = 100_000
    """Subscriptions on this node. With rules, half of them for one principal."""
    producers_max: Count = limits.PUSH_PRODUCERS_MAX
    """Clients that publish with sequences and are remembered; those that were silent for a week are forgotten. With
    rules, half of them for one principal."""
    subscriptions_per_connection_max: Count = 1_000
    """Subscriptions that one connection may be a member of."""
