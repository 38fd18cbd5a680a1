"""The settings of producers and consumers: their names, types and defaults, and how they are checked.

A class here types the keyword arguments for editors and mypy; pydantic checks the same at run time, so that a wrong
one is a `SettingsError` with the fix. Contradictions between settings are found by
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

# The bounds of librdkafka, which would report a value outside of them under another name.
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
"""From topic, key as bytes, and number of partitions to the partition."""
Start: TypeAlias = Literal["earliest", "latest"] | Annotated[int, Field(ge=0, le=(1 << 63) - 1)] | datetime.datetime
Rebalanced: TypeAlias = Callable[[list[TopicPartition]], object]


_CHECKS = ConfigDict(extra="forbid", strict=True, arbitrary_types_allowed=True)


@with_config(_CHECKS)
class ClientOptions(TypedDict, total=False):
    """Settings of all clients."""

    client_id: Name
    """Name of the client in the broker's logs and quotas; "penstock-sdk"."""
    request_timeout_ms: Count
    """Time for a request, after which the broker counts as unreachable; 30,000, and 5,000 for the first one."""
    config: Mapping[str, str | int | float | bool]
    """More settings of librdkafka, those of security also under Java's names. What has a name here is refused."""


@with_config(_CHECKS)
class ProducerOptions(ClientOptions, total=False):
    """Further settings of producers; where there is a default, the text ends with it."""

    acks: Literal["none", "leader", "all"]
    """Replicas that must have a message before it counts as delivered; "all"."""
    idempotent: bool
    """Repeated sends are stored once, and in order; True with acks="all", which it needs."""
    transactional_id: Name
    """Makes `transaction()` possible. One for each process: a second one fences the first."""
    transaction_timeout_ms: Annotated[int, Field(ge=1_000, le=2_147_483_647)]
    """Time after which the broker aborts an open transaction; 60,000."""
    partitioner: Literal["key", "round-robin"] | Partitioner
    """"key" (murmur2 of the key as in Java; messages without one go anywhere), "round-robin", or a callable."""
    batch_size: Count
    """Bytes of messages in one batch; 16,384."""
    linger_ms: Annotated[int, Field(ge=0, le=900_000)]
    """Time that a message waits for others to share a batch with; 100. `flush()` does not wait for it."""
    retries: Annotated[int, Field(ge=0, le=2_147_483_647)]
    """Number of retries of a send; as many as delivery_timeout_ms allows."""
    retry_backoff_ms: Pause
    """The pause before the first retry, doubled with each; 100."""
    retry_backoff_max_ms: Pause
    """The longest pause between retries; 1,000."""
    delivery_timeout_ms: Count
    """Time after which a message has failed; 120,000, in transactions at most transaction_timeout_ms."""
    compression: Literal["none", "gzip", "snappy", "lz4", "zstd"]
    """Codec of batches, on the wire and on disk; "none"."""
    max_message_bytes: Annotated[int, Field(ge=1_000, le=1_000_000_000)]
    """A larger message is refused at once; 1,000,000."""
    queue_messages: Count
    """Messages that may wait for delivery; 100,000."""
    queue_bytes: Annotated[int, Field(ge=1_024, le=2_147_483_647 * 1_024)]
    """Bytes of messages that may wait for delivery; 64 MiB."""
    queue_timeout_ms: Milliseconds
    """Time that `send` waits for room in the queue before it raises `QueueFull`; 60,000."""


@with_config(_CHECKS)
class ConsumerOptions(ClientOptions, total=False):
    """Further settings of consumers; where there is a default, the text ends with it."""

    group: Name
    """Shares the partitions with its other members and commits offsets. Without one, all partitions are read."""
    instance_id: Name
    """A name that outlives the process: after a restart its partitions are the same, without a rebalance."""
    delivery: Literal["at-most-once", "at-least-once", "exactly-once"]
    """Guarantee for records after a crash; "at-least-once"."""
    auto_commit: bool
    """Commit the offsets of handled records automatically; True. False: by `commit()`."""
    auto_commit_interval_ms: Interval
    """Interval of automatic commits; 5,000."""
    start: Start
    """Place to begin in a partition without a committed offset: "earliest", "latest", an offset, a time."""
    assignor: Literal["range", "round-robin", "sticky", "cooperative-sticky"]
    """Assignment strategy of the group; "range". All members of a group must have the same."""
    session_timeout_ms: Session
    """Time without a heartbeat after which a member counts as dead; 10,000."""
    heartbeat_interval_ms: Session
    """Interval of heartbeats; 3,000."""
    max_poll_interval_ms: Interval
    """Time for handling the records of one poll; 300,000."""
    max_poll_records: Count
    """Number of records taken from librdkafka at once; 500. With at-most-once, the most that one crash can lose."""
    isolation: Literal["committed", "uncommitted"]
    """Whether records of open and aborted transactions are left out; "committed"."""
    idle_timeout_s: Annotated[float, Field(gt=0)]
    """Time without a record after which iteration ends, counted from the assignment; by default never."""
    on_assign: Rebalanced
    """Called with newly assigned partitions, before their first record."""
    on_revoke: Rebalanced
    """Called with revoked partitions, while their offsets can still be committed."""
    on_lost: Rebalanced
    """Called with partitions that another member may have already, whose offsets can no longer be committed."""
    on_bad_record: Literal["raise", "skip"] | Callable[[DeserializationError], object]
    """Action for a record that the deserializer refuses; "raise"."""


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
    """The given settings over the defaults. SettingsError names everything that is wrong with them."""
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
