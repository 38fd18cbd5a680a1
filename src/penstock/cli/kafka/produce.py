"""`penstock produce`: send each line or JSON object of stdin or of files as a message."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.kafka.client import (
    DEFAULT_SERVER,
    REQUEST_TIMEOUT_S,
    BootstrapServer,
    ClientProperties,
    KafkaClients,
    connect,
    explain,
    parse_repeated,
    translated,
)
from penstock.cli.kafka.client_settings import producer_properties
from penstock.cli.kafka.input_lines import Place, Stop, UnreadableError, read_lines
from penstock.cli.kafka.message_text import Headers, OutgoingMessage, from_json, from_line
from penstock.cli.terminal.errors import CommandError, ExitCode
from penstock.cli.terminal.output import Output, note, print_json
from penstock.cli.terminal.rights import Resource, may_not_see
from penstock.model.counted import counted

if TYPE_CHECKING:
    from confluent_kafka import Producer

ERRORS_SHOWN = 5
CREATION_TIMEOUT_S = 3.0
_BEING_CREATED = (3, 5)  # UNKNOWN_TOPIC_OR_PARTITION, LEADER_NOT_AVAILABLE
_REFUSED = 29  # TOPIC_AUTHORIZATION_FAILED


class Format(StrEnum):
    LINES = "lines"
    JSON = "json"


class Acks(StrEnum):
    ALL = "all"
    ONE = "1"
    NONE = "0"


class Compression(StrEnum):
    NONE = "none"
    GZIP = "gzip"
    SNAPPY = "snappy"
    LZ4 = "lz4"
    ZSTD = "zstd"


@dataclass(slots=True)
class Sending:
    """One run: the settings that all messages share, and the outcome."""

    topic: str
    format: Format
    key: bytes | None = None
    key_separator: str | None = None
    headers: Headers = field(default_factory=list)
    partition: int | None = None
    partition_count: int = 1
    sent: int = 0
    delivered: int = 0
    failures: list[str] = field(default_factory=list)
    failed: int = 0
    per_partition: dict[int, int] = field(default_factory=dict)
    stop: Stop | None = None
    config: dict[str, Any] = field(default_factory=dict)

    def message(self, line: bytes) -> OutgoingMessage:
        """Make a message of a line; ValueError with the problem otherwise."""
        message = from_json(line) if self.format is Format.JSON else from_line(line, self.key_separator)
        if message.key is None:
            message.key = self.key
        if message.partition is None:
            message.partition = self.partition
        # Checked before sending: the library would report it later, without the line.
        if message.partition is not None and message.partition >= self.partition_count:
            last = self.partition_count - 1
            raise ValueError(f"names partition {message.partition}, but {self.topic} has only 0 to {last}")
        message.headers = [*self.headers, *message.headers]
        return message

    def on_delivery(self, error: Any, message: Any) -> None:
        if error is None:
            self.delivered += 1
            self.per_partition[message.partition()] = self.per_partition.get(message.partition(), 0) + 1
            return
        self.failed += 1
        if len(self.failures) < ERRORS_SHOWN:
            self.failures.append(_refusal(error, message, self.topic, self.config))


def _refusal(error: Any, message: Any, topic: str, config: Mapping[str, Any]) -> str:
    """Return why the broker did not take a message, and what would help."""
    from confluent_kafka import KafkaError

    if error.code() == KafkaError.POLICY_VIOLATION:
        from penstock.sdk.librdkafka.policy import PolicyTexts  # takes half a second, so only when it is needed

        return PolicyTexts(config).of(error, topic) or str(explain(error))

    if error.code() == KafkaError.MSG_SIZE_TOO_LARGE:
        return f"{error.str()}; `penstock topic alter {topic} --config max.message.bytes=…` allows larger ones"
    if error.code() == KafkaError.TOPIC_EXCEPTION and topic.startswith("__"):
        return f"{error.str()}; only the broker writes to {topic}: name another topic"
    if error.code() == KafkaError.INVALID_RECORD and message.key() is None:
        return f"{error.str()}; a compacted topic needs messages with keys: give --key or --key-separator"
    return str(explain(error))


def produce(
    topic: Annotated[str, typer.Argument(metavar="TOPIC")],
    files: Annotated[list[Path] | None, typer.Argument(metavar="[FILE...]", help="Default: stdin.")] = None,
    format: Annotated[  # noqa: A002 - it is the option's name
        Format, typer.Option("--format", "-f", help="A value per line, or a JSON object with key, value, headers …")
    ] = Format.LINES,
    key: Annotated[str | None, typer.Option("--key", "-k", help="Key of messages without a key of their own.")] = None,
    key_separator: Annotated[
        str | None, typer.Option("--key-separator", "-K", help="Separator in a line; the text before it is the key.")
    ] = None,
    header: Annotated[
        list[str] | None, typer.Option("--header", "-H", metavar="NAME=VALUE", help="Header of every message.")
    ] = None,
    partition: Annotated[
        int | None, typer.Option("--partition", "-p", min=0, help="Partition. Default: by key.")
    ] = None,
    acks: Annotated[Acks, typer.Option("--acks", help="Acknowledgement to wait for.")] = Acks.ALL,
    compression: Annotated[Compression, typer.Option("--compression", "-z")] = Compression.NONE,
    progress: Annotated[bool, typer.Option("--progress/--no-progress", help="Show a progress bar for files.")] = True,
    output: Annotated[Output, typer.Option("--output", "-o", help="A sentence on stderr, or json.")] = Output.TABLE,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    properties: ClientProperties = None,
) -> None:
    """Send messages: one for each line of stdin or of the files."""
    for path in files or ():
        if path.is_dir():
            raise CommandError(f"{path} is a directory", ExitCode.USAGE, hint=f"name its files, such as {path}/*")
        if not path.exists():
            raise CommandError(f"file {path} does not exist", ExitCode.NOT_FOUND)
    headers: Headers = [(name, value.encode()) for name, value in parse_repeated(header, "--header")]
    fixed_key = None if key is None else key.encode()
    sending = Sending(topic, format, fixed_key, key_separator, headers, partition)
    cluster = connect(bootstrap_server, properties)
    sending.config = cluster.config()
    producer = cluster.producer(
        **{
            "acks": acks.value,
            "compression.type": compression.value,
            "linger.ms": 5,
            "enable.idempotence": acks is Acks.ALL,
            # The library's default of two minutes is too long for a person who waits.
            "message.timeout.ms": 30_000,
            "on_delivery": sending.on_delivery,
            **producer_properties(),
        }
    )
    sending.partition_count = _partition_count(cluster, producer, topic, partition)
    started = time.monotonic()
    with read_lines(files or [], progress) as lines:
        _send(producer, sending, lines)
    _report(sending, time.monotonic() - started, output)


def _partition_count(cluster: KafkaClients, producer: Producer, topic: str, partition: int | None) -> int:
    """Return the number of partitions. The broker may create the topic, as for any producer; a note says so."""
    known = cluster.metadata().topics
    if topic not in known:
        deadline = time.monotonic() + CREATION_TIMEOUT_S
        while True:
            with translated(f"topic {topic}"):
                found = producer.list_topics(topic, timeout=REQUEST_TIMEOUT_S).topics[topic]
            if found.error is None:
                break
            if found.error.code() == _REFUSED:
                raise may_not_see(Resource.TOPIC, topic, "Write")
            # A broker that is creating the topic answers with one of these until it exists.
            if found.error.code() not in _BEING_CREATED or time.monotonic() > deadline:
                hint = f"create it with `penstock topic create {topic}`"
                raise CommandError(f"topic {topic} does not exist ({found.error.str()})", ExitCode.NOT_FOUND, hint=hint)
            time.sleep(0.05)
        known = {**known, topic: found}
        note(f"topic {topic} did not exist; the broker created it")
    count = len(known[topic].partitions)
    if partition is not None and partition >= count:
        raise CommandError(f"topic {topic} has no partition {partition}, only 0 to {count - 1}", ExitCode.NOT_FOUND)
    return count


def _send(producer: Producer, sending: Sending, lines: Iterator[tuple[Place, bytes]]) -> None:
    """Send until the end, a bad line or a refusal; everything handed over before is delivered in any case."""
    try:
        for place, line in lines:
            try:
                _hand_over(producer, sending.topic, sending.message(line))
            except ValueError as error:
                sending.stop = Stop(place, str(error))
                break
            sending.sent += 1
            producer.poll(0)
            if sending.failed:
                break
    except UnreadableError as error:
        sending.stop = error.stop
    except KeyboardInterrupt:
        producer.flush()
        note(f"interrupted; {_count(sending.delivered)} delivered")
        raise
    finally:
        producer.flush()


def _hand_over(producer: Producer, topic: str, message: OutgoingMessage) -> None:
    """Put a message into the library's queue; ValueError with the reason if the library refuses it."""
    from confluent_kafka import KafkaError, KafkaException

    optional: dict[str, Any] = {"headers": message.headers} if message.headers else {}
    if message.partition is not None:
        optional["partition"] = message.partition
    if message.timestamp_ms is not None:
        optional["timestamp"] = message.timestamp_ms
    while True:
        try:
            return producer.produce(topic, message.value, message.key, **optional)
        except BufferError:  # the library's queue is full: wait until some are delivered
            producer.poll(0.1)
        except KafkaException as error:
            if error.args[0].code() == KafkaError.MSG_SIZE_TOO_LARGE:
                reason = f"is larger than the client sends ({len(message.value or b''):,} bytes)"
                raise ValueError(f"{reason}; --property message.max.bytes=… allows larger ones") from error
            raise ValueError(str(explain(error.args[0]))) from error


def _report(sending: Sending, seconds: float, output: Output) -> None:
    if output is Output.JSON:
        print_json(
            {
                "topic": sending.topic,
                "delivered": sending.delivered,
                "failed": sending.failed,
                "failed_line": sending.stop and {**sending.stop.place._asdict(), "reason": sending.stop.reason},
                "partitions": {str(key): value for key, value in sorted(sending.per_partition.items())},
                "seconds": round(seconds, 3),
            }
        )
    if sending.failed:
        reasons = "; ".join(sorted(set(sending.failures)))
        stopped = f"; {sending.stop}" if sending.stop else ""
        were = "was" if sending.failed == 1 else "were"
        what = f"{sending.failed:,} of {_count(sending.sent)} {were} not delivered"
        raise CommandError(f"{what}: {reasons}{stopped}")
    if sending.stop:
        raise CommandError(f"{_count(sending.delivered)} delivered, {sending.stop}")
    if output is Output.TABLE:
        count = len(sending.per_partition)
        note(f"{_count(sending.delivered)} to {sending.topic} ({counted(count, 'partition')}) in {seconds:.2f} s")


def _count(messages: int) -> str:
    return counted(messages, "message")
