"""The settings of a node: one tree of frozen values, each with its default, bounds and a line of explanation.

This file says what may be set; the text below a setting is what `config.explanations` shows. Where values come from
(flags, environment, file) and who wins is `config.loading`; the names are those of the YAML file, of
`PENSTOCK_SECTION__NAME` in the environment and of `penstock config show`. Topic configs (`retention.ms` …) are
Kafka's own and live in `config.topic_configs`; `topics.defaults` holds the node's defaults for them.
"""

from __future__ import annotations

import re
import zlib
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from penstock.config.config_layers import ConfigLayers
from penstock.model import limits
from penstock.model.errors import KafkaError
from penstock.model.role import Role

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
_UNITS = {"": 1, "b": 1, "kib": KIB, "mib": MIB, "gib": GIB, "kb": 1000, "mb": 1000**2, "gb": 1000**3}
_SIZE = re.compile(r"(\d+)\s*([a-z]*)", re.IGNORECASE)
INT32_MAX = (1 << 31) - 1


def parse_bytes(value: object) -> object:
    """'16 MiB' as well as 16777216; anything else is left for the type check to refuse."""
    if isinstance(value, str) and (match := _SIZE.fullmatch(value.strip())):
        unit = _UNITS.get(match[2].lower())
        if unit is not None:
            return int(match[1]) * unit
    return value


def parse_pairs(value: object) -> object:
    """'a=1,b=2' as well as a mapping, so that the environment can set a mapping."""
    if not isinstance(value, str):
        return value
    pairs = [item.partition("=") for item in value.split(",") if item.strip()]
    if any(not name.strip() or not equals for name, equals, _ in pairs):
        raise ValueError("expected name=value pairs separated by commas")
    return {name.strip(): text.strip() for name, _, text in pairs}


def _texts(value: object) -> object:
    """Kafka's config values are strings; YAML turns some of them into numbers and booleans."""
    value = parse_pairs(value)
    if not isinstance(value, dict):
        return value
    return {str(k): str(v).lower() if isinstance(v, bool) else str(v) for k, v in value.items()}


Bytes = Annotated[int, BeforeValidator(parse_bytes), Field(ge=0)]
Port = Annotated[int, Field(ge=0, le=65535)]
Host = Annotated[str, Field(min_length=1)]
Millis = Annotated[int, Field(ge=0)]
Count = Annotated[int, Field(ge=1)]
Texts = Annotated[dict[str, str], BeforeValidator(_texts)]


DISK, MEMORY = "disk", "memory"
"""The storage engines that come with Penstock."""


class Flush(StrEnum):
    """When a batch counts as written: after a sync, with one every so often, or when the system pleases."""

    ALWAYS = "always"
    INTERVAL = "interval"
    OS = "os"


class VerifyOnRead(StrEnum):
    FIRST = "first"
    ALWAYS = "always"
    OFF = "off"


class Validation(StrEnum):
    """What produce checks: the batch's header and CRC, or every record in it too."""

    BATCH = "batch"
    RECORDS = "records"


class LogLevel(StrEnum):
    DEBUG = "DEBUG"
    INFO = "INFO"
    WARNING = "WARNING"
    ERROR = "ERROR"
    CRITICAL = "CRITICAL"


def _upper(value: object) -> object:
    return value.upper() if isinstance(value, str) else value


Level = Annotated[LogLevel, BeforeValidator(_upper)]


class Section(BaseModel):
    """A branch of the tree: nothing changes after loading, nothing unknown is let in."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class NodeSettings(Section):
    id: Annotated[int, Field(ge=0, le=INT32_MAX)] = 1
    """Number of this node, which clients see. A name such as local-001 is taken too: it becomes node.name,
    and the number is its trailing digits, or else a hash of the name."""
    name: str | None = None
    """What the log calls this node; without one, its number."""
    data_dir: Path = Path("data")
    """Directory of everything this node must not forget."""
    rack: str | None = None
    """Reported to clients that prefer near replicas."""

    @model_validator(mode="before")
    @classmethod
    def _split_name(cls, values: Any) -> Any:
        if not isinstance(values, dict) or not isinstance(values.get("id"), str):
            return values
        text = values["id"].strip()
        if not text or re.fullmatch(r"-?\d+", text):
            return values
        return {"name": text, **values, "id": node_number(text)}

    @property
    def label(self) -> str:
        return self.name or str(self.id)


def node_number(name: str) -> int:
    """The number of a node that was given a name: local-001 is 1; a name without digits is hashed."""
    digits = re.search(r"(\d+)$", name)
    return int(digits[1]) & INT32_MAX if digits else zlib.crc32(name.encode()) & INT32_MAX


class KafkaSettings(Section):
    host: Host = "127.0.0.1"
    """Address to listen on; 0.0.0.0 for all, unix:/path for a socket in the file system."""
    port: Port = 9092
    """Port of the Kafka door; 0 takes a free one."""
    advertised: str | None = None
    """host:port that clients are told, if they cannot use the address they came in on (NAT, a proxy)."""
    backlog: Count = 1024
    """Connections the system may hold before they are accepted."""
    receive_buffer_bytes: Bytes = 0
    """SO_RCVBUF of each connection; 0 leaves it to the system, which grows it as needed."""
    send_buffer_bytes: Bytes = 0
    """SO_SNDBUF of each connection; 0 leaves it to the system."""
    idle_timeout_ms: Millis = limits.CONNECTION_IDLE_MS_MAX
    """A connection without a request for so long is closed."""
    shutdown_timeout_ms: Millis = 10_000
    """How long a stop waits for requests that are being answered."""

    @field_validator("advertised")
    @classmethod
    def _host_and_port(cls, value: str | None) -> str | None:
        if value:
            split_address(value)
        return value or None

    @property
    def advertised_address(self) -> tuple[str, int] | None:
        return split_address(self.advertised) if self.advertised else None


def split_address(text: str) -> tuple[str, int]:
    """host:port, with brackets around an IPv6 address."""
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdecimal() or not 0 < int(port) < 65536:
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
    admin_api: bool = True
    """Serve /api/v1, with which whoever reaches this port can look at topics and groups and change them."""
    test_endpoints: bool = False
    """Serve /test, which writes messages for whoever can reach this port: for tests and trials."""
    test_data_dir: Path | None = None
    """The directory whose SQLite files /test/load-from-sqlite may read."""


class PushSettings(Section):
    """The push door: subscriptions, for clients that speak no Kafka."""

    enabled: bool = True
    """Open the push door, and recognise its clients at the Kafka door."""
    host: Host | None = None
    """Address to listen on; without one, that of the Kafka door."""
    port: Port = 9999
    """Port of the push door; 0 takes a free one."""
    credit: Annotated[int, Field(ge=1, le=100_000)] = 100
    """Messages that a subscriber may have unacknowledged, if it does not ask for another number."""
    credit_max: Annotated[int, Field(ge=1, le=1_000_000)] = 10_000
    """Most that a subscriber gets, whatever it asks for."""
    messages_per_frame: Annotated[int, Field(ge=1, le=1_000)] = 10
    """Messages in a DATA frame, if a subscriber does not ask for another number."""
    ack_timeout_ms: Annotated[int, Field(ge=100)] = 30_000
    """A message that is not acknowledged for so long is sent to another member."""
    redelivery_delay_ms: Millis = 100
    """Time before a message that a member has given back is sent again."""
    deliveries_max: Annotated[int, Field(ge=1, le=1_000)] = 10
    """A message that was sent so often and never acknowledged goes to the dead-letter topic."""
    heartbeat_interval_ms: Annotated[int, Field(ge=100)] = 30_000
    """Whoever has sent nothing for so long sends a heartbeat; after three of them without a byte a peer is dead."""
    frame_bytes_max: Annotated[Bytes, Field(ge=64 * KIB, le=INT32_MAX)] = 16 * MIB
    """Largest frame of a client."""
    commit_interval_ms: Annotated[int, Field(ge=0, le=1_000)] = 20
    """Positions are stored at most this often; what changes in between is stored together."""
    subscriptions_max: Count = 100_000
    """Subscriptions on this node."""
    subscriptions_per_connection_max: Count = 1_000
    """Subscriptions that one connection may be a member of."""


def _engine(value: object) -> object:
    return DISK if value == "mmap" else value


def _off(value: object) -> object:
    """YAML reads a bare off as false."""
    return VerifyOnRead.OFF if value is False else value


class StorageSettings(Section):
    engine: Annotated[str, BeforeValidator(_engine), Field(min_length=1)] = DISK
    """disk, memory (nothing survives a stop), or the name of an entry point penstock.storage. mmap is taken as disk."""
    flush: Flush = Flush.ALWAYS
    """always: acknowledged means synced; interval: synced every flush_interval_ms; os: by the system."""
    flush_interval_ms: Count = 1_000
    """Time between syncs with flush: interval."""
    verify_on_read: Annotated[VerifyOnRead, BeforeValidator(_off)] = VerifyOnRead.FIRST
    """Check the CRC when a region is first served after opening, always, or never."""
    min_free_bytes: Bytes = 256 * MIB
    """Below this much free disk, produce is refused until there is room again."""
    reserve_bytes: Bytes = 64 * MIB
    """The part of min_free_bytes that offset commits, group records and deletions may still use."""
    memory_bytes_max: Annotated[Bytes, Field(ge=1 * MIB)] = 1 * GIB
    """With engine: memory, above this many bytes of records produce is refused until there is room again."""
    disk_check_interval_ms: Count = 1_000
    """Time between looks at the free disk space."""
    open_files_max: Annotated[int, Field(ge=16)] = 1_500
    """Segment files held open at once."""
    checkpoint_bytes: Annotated[Bytes, Field(ge=64 * KIB)] = 16 * MIB
    """A log writes a recovery point after so many new bytes."""
    checkpoint_interval_ms: Count = 60_000
    """… or after this time."""
    retention_check_interval_ms: Count = 30_000
    """Time between retention runs."""
    compaction_check_interval_ms: Count = 15_000
    """Time between looks for logs to compact."""
    scrub_bytes_per_second: Bytes = 1 * MIB
    """Speed of the background check of all stored bytes; 0 switches it off."""


class TopicSettings(Section):
    default_partitions: Annotated[int, Field(ge=1, le=10_000)] = 1
    """Partitions of a topic that is created without a number."""
    auto_create: bool = True
    """Create a topic when a client first asks for it."""
    strict_replication_factor: bool = False
    """Refuse replication factors above the number of nodes instead of lowering them."""
    validation: Validation = Validation.BATCH
    """Check batches by header and CRC, or decode every record. Compacted topics always decode."""
    defaults: Texts = Field(default_factory=dict)
    """Node-wide defaults of topic configs by Kafka's names, such as retention.ms."""

    @field_validator("defaults")
    @classmethod
    def _known_configs(cls, value: dict[str, str]) -> dict[str, str]:
        try:
            ConfigLayers(value)
        except KafkaError as error:
            raise ValueError(str(error)) from error
        return value


class GroupSettings(Section):
    initial_rebalance_delay_ms: Millis = 3_000
    """A new group waits so long for more members before the first assignment."""
    session_timeout_min_ms: Count = 6_000
    """Shortest session timeout a member may ask for."""
    session_timeout_max_ms: Count = 1_800_000
    """Longest session timeout a member may ask for."""
    offsets_retention_minutes: Count = 10_080
    """Offsets of a group that has been empty for so long are dropped."""
    offsets_retention_check_interval_ms: Count = 600_000
    """Time between looks for such offsets."""
    offsets_topic_partitions: Annotated[int, Field(ge=1, le=1_000)] = 50
    """Partitions of __consumer_offsets when it is created."""
    offset_metadata_bytes_max: Annotated[int, Field(ge=0)] = 4_096
    """Longest text a member may commit with an offset."""
    members_max: Count = limits.GROUP_MEMBERS_MAX
    """Most members of one group."""
    groups_max: Count = 100_000
    """Most groups on this node."""


class TransactionSettings(Section):
    timeout_max_ms: Count = 900_000
    """Longest timeout a producer may ask for; a transaction that is open for longer than its timeout is aborted."""
    id_expiration_ms: Count = 604_800_000
    """A transactional id that was not used for so long is forgotten."""
    topic_partitions: Annotated[int, Field(ge=1, le=1_000)] = 50
    """Partitions of __transaction_state when it is created."""


class LimitSettings(Section):
    """The limits that an operator may move; `model.limits` has their reasons."""

    frame_bytes_max: Annotated[Bytes, Field(ge=64 * KIB, le=INT32_MAX)] = limits.FRAME_BYTES_MAX
    """Largest request; a larger one closes its connection."""
    connections_max: Count = limits.CONNECTIONS_MAX
    """Connections in all."""
    connections_per_address_max: Count = limits.CONNECTIONS_PER_ADDRESS_MAX
    """Connections from one address."""
    in_flight_per_connection_max: Count = limits.IN_FLIGHT_PER_CONNECTION_MAX
    """Requests of one connection that may wait for an answer; reading pauses above it."""
    queued_bytes_per_connection_max: Annotated[Bytes, Field(ge=64 * KIB)] = limits.QUEUED_BYTES_PER_CONNECTION_MAX
    """Bytes of one connection's requests in memory; reading pauses above it."""
    queued_bytes_total_max: Annotated[Bytes, Field(ge=1 * MIB)] = limits.QUEUED_BYTES_TOTAL_MAX
    """The same over all connections."""
    unread_bytes_per_connection_max: Annotated[Bytes, Field(ge=64 * KIB)] = limits.UNREAD_BYTES_PER_CONNECTION_MAX
    """Answers that a client has not read; reading its requests pauses above it."""
    decompressed_bytes_max: Annotated[Bytes, Field(ge=1 * MIB)] = limits.DECOMPRESSED_BYTES_MAX
    """A batch that grows beyond this when its records must be decoded is refused."""
    fetch_bytes_max: Annotated[Bytes, Field(ge=1 * MIB)] = limits.FETCH_BYTES_MAX
    """Most bytes one fetch returns, whatever the client asks for; a single larger batch is returned all the same."""
    fetch_sessions_max: Count = limits.FETCH_SESSIONS_MAX
    """Incremental fetch sessions kept."""
    topics_max: Count = limits.TOPICS_MAX
    """Topics on this node."""
    partitions_max: Count = limits.PARTITIONS_MAX
    """Partitions on this node."""
    partitions_per_topic_max: Count = limits.PARTITIONS_PER_TOPIC_MAX
    """Partitions of one topic."""


class TelemetrySettings(Section):
    """Metrics that clients push (KIP-714); what they push is up to the client-metrics subscriptions."""

    bytes_max: Annotated[Bytes, Field(ge=1, le=INT32_MAX)] = limits.TELEMETRY_BYTES_MAX
    """Largest push of a client, as it comes over the wire: Kafka's telemetry.max.bytes."""
    clients_max: Count = limits.TELEMETRY_CLIENTS_MAX
    """Clients remembered; with more, the one that was silent longest is forgotten."""
    series_per_client_max: Count = limits.TELEMETRY_SERIES_PER_CLIENT_MAX
    """Series of one client on the metrics page; what is above is counted and left out."""
    series_max: Count = limits.TELEMETRY_SERIES_MAX
    """Series of all clients on the metrics page; what is above is counted and left out."""
    linger_ms: Millis = 60_000
    """The last values of a client that has gone stay on the metrics page for so long, to be scraped once more."""


def _no_slash(value: object) -> object:
    return value.strip().rstrip("/") or None if isinstance(value, str) else value


Url = Annotated[str, Field(pattern=r"^https?://[^\s/?#@]+(/[^\s?#]*)?$", max_length=2_048)]


class RegistrySettings(Section):
    """The node's place in a hierarchy of brokers (docs/hierarchy.md). What is said here is told to the registry."""

    url: Annotated[Url | None, BeforeValidator(_no_slash)] = None
    """The registry, such as http://registry.example:8080; without one the node stands alone."""
    poll_interval_ms: Annotated[int, Field(ge=100, le=86_400_000)] = 30_000
    """Time between two questions for the node's role and parent."""
    role: Annotated[Role | None, BeforeValidator(_upper)] = None
    """ROOT, L2, L3, POS or LOCAL; without one the registry decides by the node's name, and in the end for LOCAL."""
    site: Annotated[str | None, Field(max_length=256)] = None
    """Where the node stands, widest part first, such as eu/berlin/shop-7: parents that share more of it come first."""
    advertised_url: Annotated[Url | None, BeforeValidator(_no_slash)] = None
    """URL of this node's HTTP port for its children; without one http.host and http.port, or, where that is every
    address, the one that the registry sees."""


def _split(value: object) -> object:
    """'a,b' as well as a list, so that the environment can set a list."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


Patterns = Annotated[tuple[str, ...], BeforeValidator(_split)]


class PipeSettings(Section):
    """How this node follows its parent (docs/hierarchy.md)."""

    parent_url: Annotated[str | None, BeforeValidator(_no_slash)] = None
    """The parent's HTTP port, such as http://root.example:8080, or, with type: kafka, host:port of a broker.
    Without one the parent is the one that the registry names."""
    type: Annotated[str, Field(min_length=1)] = "http"
    """What reaches the parent: http, kafka, or the name of an entry point penstock.pipe."""
    topics: Patterns = ("*",)
    """Topics that are mirrored, as patterns such as prices-*; internal topics never are."""
    exclude: Patterns = ()
    """Of those, the ones that are not."""
    poll_interval_ms: Annotated[int, Field(ge=10, le=3_600_000)] = 1_000
    """The pause after an error. Without one data comes at once: the parent is asked again before it has any."""
    batch_size: Annotated[int, Field(ge=1, le=1_000_000)] = 1_000
    """Most record batches in one answer."""
    answer_bytes_max: Annotated[Bytes, Field(ge=64 * KIB, le=GIB)] = 4 * MIB
    """Most bytes in one answer; a single larger batch is sent all the same. Both sides' limits hold."""
    wait_ms: Annotated[int, Field(ge=100, le=60_000)] = 5_000
    """How long the parent may wait for data before it answers that there are none."""
    timeout_ms: Annotated[int, Field(ge=100, le=600_000)] = 5_000
    """A parent that has not answered after so much more than wait_ms has failed."""
    pulls_max: Count = 1_000
    """Questions of children that may wait here at a time; more are refused."""
    degraded_failures: Count = 1
    """Failures in a row after which the pipe is DEGRADED."""
    degraded_lag_ms: Millis = 10_000
    """So long behind the parent is DEGRADED, too."""
    unhealthy_failures: Count = 5
    """Failures in a row after which the pipe is UNHEALTHY, and the next parent is tried if there is one."""
    unhealthy_lag_ms: Millis = 60_000
    """So long behind the parent is UNHEALTHY, too."""
    healthy_successes: Count = 3
    """Answers in a row after which things are believed to be better."""


class ClientSettings(Section):
    """What the push clients of the command line use; a broker has no use for it."""

    request_timeout_ms: Count = 30_000
    """How long a client waits for an answer."""
    heartbeat_interval_ms: Annotated[int, Field(ge=100)] = 30_000
    """A client that has sent nothing for so long sends a heartbeat."""


class ConsumerSettings(Section):
    """Consumers in the broker's own process; `penstock consumers run` runs them in one of their own."""

    modules: Annotated[tuple[str, ...], BeforeValidator(_split)] = ()
    """Modules whose consumers run in the broker's process, by name or by path."""


class LogFormat(StrEnum):
    TEXT = "text"
    JSON = "json"


class LoggingSettings(Section):
    format: LogFormat = LogFormat.TEXT
    """text: one line for people with key=value fields; json: one object a line."""
    level: Level = LogLevel.INFO
    """Level of everything that has no level of its own."""
    modules: Annotated[dict[str, Level], BeforeValidator(parse_pairs)] = Field(default_factory=dict)
    """Levels by module, such as storage: DEBUG or broker.groups: WARNING."""


class Settings(Section):
    """Everything that can be set."""

    node: NodeSettings = NodeSettings()
    kafka: KafkaSettings = KafkaSettings()
    network: NetworkSettings = NetworkSettings()
    http: HttpSettings = HttpSettings()
    push: PushSettings = PushSettings()
    storage: StorageSettings = StorageSettings()
    topics: TopicSettings = TopicSettings()
    groups: GroupSettings = GroupSettings()
    transactions: TransactionSettings = TransactionSettings()
    limits: LimitSettings = LimitSettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    consumers: ConsumerSettings = ConsumerSettings()
    registry: RegistrySettings = RegistrySettings()
    pipe: PipeSettings = PipeSettings()
    client: ClientSettings = ClientSettings()
    logging: LoggingSettings = LoggingSettings()

    @model_validator(mode="after")
    def _agree(self) -> Settings:
        if self.groups.session_timeout_min_ms > self.groups.session_timeout_max_ms:
            raise ValueError("groups.session_timeout_min_ms is above groups.session_timeout_max_ms")
        if self.storage.reserve_bytes > self.storage.min_free_bytes:
            raise ValueError("storage.reserve_bytes is above storage.min_free_bytes, of which it is a part")
        return self


def keys() -> tuple[str, ...]:
    """Every setting by its dotted name."""
    return tuple(
        f"{section}.{name}"
        for section, branch in Settings.model_fields.items()
        for name in branch.default.__class__.model_fields
    )


MAPPINGS = frozenset({"topics.defaults", "logging.modules"})
"""Settings that hold names of their own; those names are not keys of the tree."""
