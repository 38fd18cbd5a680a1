"""The settings of producers and consumers: their names, types and defaults, and how they are checked.

A class here is what an editor and mypy know of the keyword arguments; pydantic checks the same at run time, so that a
wrong one is a `SettingsError` with the fix whatever it came from. Contradictions between settings are found by
`producer_config` and `consumer_config`, which also turn them into librdkafka's.
"""

from __future__ import annotations

import datetime
import difflib
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict

from penstock.model.topic_partition import TopicPartition
from penstock.sdk.errors import DeserializationError, SettingsError

# As far as librdkafka goes: what it refuses itself, it would tell of under another name.
Count = Annotated[int, Field(ge=1, le=2_147_483_647)]
Pause = Annotated[int, Field(ge=1, le=300_000)]
Session = Annotated[int, Field(ge=1, le=3_600_000)]
Interval = Annotated[int, Field(ge=1, le=86_400_000)]
Milliseconds = Annotated[int, Field(ge=0, le=86_400_000)]


def _whole(name: str) -> str:
    if "\0" in name:
        raise ValueError("a name ends at its first zero; leave it out")
    return name


Name = Annotated[str, Field(min_length=1, max_length=249), AfterValidator(_whole)]
Partitioner: TypeAlias = Callable[[str, bytes | None, int], int]
"""Of topic, key as bytes, and number of partitions: the partition."""
Start: TypeAlias = Literal["earliest", "latest"] | Annotated[int, Field(ge=0, le=(1 << 63) - 1)] | datetime.datetime
Rebalanced: TypeAlias = Callable[[list[TopicPartition]], object]


_CHECKS = ConfigDict(extra="forbid", strict=True, arbitrary_types_allowed=True)


@with_config(_CHECKS)
class ClientOptions(TypedDict, total=False):
    """What all clients have."""

    client_id: Name
    """How the client calls itself in the broker's logs and quotas; "penstock-sdk"."""
    request_timeout_ms: Count
    """How long a request may take until the broker counts as unreachable; 30,000, and 5,000 for the first one."""
    config: Mapping[str, str | int | float | bool]
    """More settings of librdkafka, such as security.protocol. Those that have a name here are refused."""


@with_config(_CHECKS)
class ProducerOptions(ClientOptions, total=False):
    """What producers have besides; where there is a default, the text ends with it."""

    acks: Literal["none", "leader", "all"]
    """Who has it when a message counts as delivered; "all"."""
    idempotent: bool
    """Repeated sends are stored once, and in order; True with acks="all", which it needs."""
    transactional_id: Name
    """Makes `transaction()` possible. One for each process: a second one fences the first."""
    transaction_timeout_ms: Annotated[int, Field(ge=1_000, le=2_147_483_647)]
    """After so long the broker aborts an open transaction; 60,000."""
    partitioner: Literal["key", "round-robin"] | Partitioner
    """"key" (murmur2 of the key as in Java; messages without one go anywhere), "round-robin", or a callable."""
    batch_size: Count
    """Bytes of messages in one batch; 16,384."""
    linger_ms: Annotated[int, Field(ge=0, le=900_000)]
    """How long a message waits for others to share a batch with; 100. `flush()` does not wait for it."""
    retries: Annotated[int, Field(ge=0, le=2_147_483_647)]
    """How often a send is tried again; as often as delivery_timeout_ms allows."""
    retry_backoff_ms: Pause
    """The pause before the first retry, doubled with each; 100."""
    retry_backoff_max_ms: Pause
    """The longest pause between retries; 1,000."""
    delivery_timeout_ms: Count
    """After so long a message has failed; 120,000, in transactions at most transaction_timeout_ms."""
    compression: Literal["none", "gzip", "snappy", "lz4", "zstd"]
    """Of batches, on the wire and on disk; "none"."""
    max_message_bytes: Annotated[int, Field(ge=1_000, le=1_000_000_000)]
    """A larger message is refused at once; 1,000,000."""
    queue_messages: Count
    """Messages that may wait for delivery; 100,000."""
    queue_bytes: Annotated[int, Field(ge=1_024, le=2_147_483_647 * 1_024)]
    """Bytes of messages that may wait for delivery; 64 MiB."""
    queue_timeout_ms: Milliseconds
    """How long `send` waits for room in the queue until it raises `QueueFull`; 60,000."""


@with_config(_CHECKS)
class ConsumerOptions(ClientOptions, total=False):
    """What consumers have besides; where there is a default, the text ends with it."""

    group: Name
    """Shares the partitions with others of the same group and commits offsets. Without one, all partitions are read."""
    instance_id: Name
    """A name that outlives the process: after a restart its partitions are the same, without a rebalance."""
    delivery: Literal["at-most-once", "at-least-once", "exactly-once"]
    """What a crash may do to records; "at-least-once"."""
    auto_commit: bool
    """Offsets of records that were handled are committed by themselves; True. False: by `commit()`."""
    auto_commit_interval_ms: Interval
    """How often; 5,000."""
    start: Start
    """Where to begin in a partition without a committed offset: "earliest", "latest", an offset, a time."""
    assignor: Literal["range", "round-robin", "sticky", "cooperative-sticky"]
    """How a group's partitions are shared out; "range". Everybody in a group must have the same."""
    session_timeout_ms: Session
    """After so long without a heartbeat a member counts as dead; 10,000."""
    heartbeat_interval_ms: Session
    """How often a member says that it lives; 3,000."""
    max_poll_interval_ms: Interval
    """How long handling what one poll brought may take; 300,000."""
    max_poll_records: Count
    """How many records are taken from librdkafka at once; 500. With at-most-once, what one crash can lose."""
    isolation: Literal["committed", "uncommitted"]
    """Whether records of open and aborted transactions are left out; "committed"."""
    idle_timeout_s: Annotated[float, Field(gt=0)]
    """Iteration ends when no record has come for so long, counted from the assignment; by default never."""
    on_assign: Rebalanced
    """Called with partitions that have become ours, before the first record of them."""
    on_revoke: Rebalanced
    """Called with partitions that go to somebody else, while their offsets can still be committed."""
    on_lost: Rebalanced
    """Partitions that somebody else may have already, and whose offsets can no longer be committed."""
    on_bad_record: Literal["raise", "skip"] | Callable[[DeserializationError], object]
    """What to do with a record that the deserializer refuses; "raise"."""


COMMON_DEFAULTS: ClientOptions = {"client_id": "penstock-sdk", "request_timeout_ms": 30_000, "config": {}}
PRODUCER_DEFAULTS: ProducerOptions = {
    "acks": "all",
    "transaction_timeout_ms": 60_000,
    "partitioner": "key",
    "batch_size": 16_384,
    "linger_ms": 100,
    "retries": 2_147_483_647,
    "retry_backoff_ms": 100,
    "retry_backoff_max_ms": 1_000,
    "delivery_timeout_ms": 120_000,
    "compression": "none",
    "max_message_bytes": 1_000_000,
    "queue_messages": 100_000,
    "queue_bytes": 64 << 20,
    "queue_timeout_ms": 60_000,
    **COMMON_DEFAULTS,  # type: ignore[typeddict-item]
}
CONSUMER_DEFAULTS: ConsumerOptions = {
    "delivery": "at-least-once",
    "auto_commit": True,
    "auto_commit_interval_ms": 5_000,
    "start": "earliest",
    "assignor": "range",
    "session_timeout_ms": 10_000,
    "heartbeat_interval_ms": 3_000,
    "max_poll_interval_ms": 300_000,
    "max_poll_records": 500,
    "isolation": "committed",
    "on_bad_record": "raise",
    **COMMON_DEFAULTS,  # type: ignore[typeddict-item]
}

Options = TypeVar("Options", ClientOptions, ProducerOptions, ConsumerOptions)


def checked(kind: type[Options], given: Mapping[str, Any], defaults: Options) -> Options:
    """What was given, over the defaults. SettingsError names everything that is wrong with it."""
    try:
        found: Options = TypeAdapter(kind).validate_python(dict(given))
    except ValidationError as error:
        known = list(kind.__annotations__)
        problems = {str(each["loc"][0]): _problem(dict(each), known) for each in reversed(error.errors())}
        raise SettingsError("; ".join(reversed(problems.values()))) from None
    return {**defaults, **found}


def _problem(problem: dict[str, Any], known: list[str]) -> str:
    name = str(problem["loc"][0])
    if problem["type"] == "extra_forbidden":
        near = difflib.get_close_matches(name, known, n=1)
        fix = f"did you mean {near[0]}?" if near else f"there are {', '.join(sorted(known))}"
        return f"unknown setting {name}: {fix}"
    said = problem["msg"].removeprefix("Value error, ")
    text = said[:1].lower() + said[1:]
    return f"{name}={problem['input']!r} is refused: {text}"
