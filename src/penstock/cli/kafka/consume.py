"""`penstock consume`: read messages, alone or as a member of a group.

Without `--follow` it reads up to the end at the time of its start. With a group it starts at the committed offsets and
commits only what it has printed.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
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
    translated,
)
from penstock.cli.kafka.client_settings import consumer_properties
from penstock.cli.kafka.message_text import to_json_line, to_text
from penstock.cli.terminal.errors import CommandError, ExitCode
from penstock.cli.terminal.moment import parse_moment
from penstock.cli.terminal.output import note, write_text
from penstock.cli.terminal.rights import Resource, may_not

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message

Ends = dict[tuple[str, int], int]
Line = Callable[[Any], str]
IsEnd = Callable[["Message"], bool]

BATCH_MESSAGES = 500
POLL_S = 0.1


class Shape(StrEnum):
    TEXT = "text"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class Start:
    """Start of reading: an end of the log, an offset, or a time."""

    position: str | None = None  # earliest | latest
    offset: int | None = None
    timestamp_ms: int | None = None


def parse_start(text: str) -> Start:
    """'earliest', 'latest', '42', '2026-03-01T09:00:00Z', or '@1767258000000' in milliseconds."""
    if text in ("earliest", "latest"):
        return Start(position=text)
    if text.isdecimal():
        return Start(offset=int(text))
    return Start(timestamp_ms=parse_moment(text, "--from", "earliest, latest, an offset"))


def consume(
    topics: Annotated[list[str], typer.Argument(metavar="TOPIC...")],
    from_: Annotated[
        str | None, typer.Option("--from", metavar="WHERE", help="earliest, latest, an offset, or a date and time.")
    ] = None,
    count: Annotated[int | None, typer.Option("--count", "-n", min=1, help="Stop after this many messages.")] = None,
    group: Annotated[str | None, typer.Option("--group", "-g", help="Read as a member of this group.")] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Wait for new messages.")] = False,
    partition: Annotated[
        list[int] | None, typer.Option("--partition", "-p", min=0, help="Only these partitions.")
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show offset, time, key and headers as well.")
    ] = False,
    output: Annotated[
        Shape, typer.Option("--output", "-o", help="Values as text, or one JSON object per line.")
    ] = Shape.TEXT,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    properties: ClientProperties = None,
) -> None:
    """Read messages and print them."""
    topics = list(dict.fromkeys(topics))
    start = parse_start(from_) if from_ else Start(position="earliest")
    if group and (partition or start.position is None):
        hint = f"use `penstock group reset-offsets {group}` to move the offsets of the group"
        raise CommandError(
            "--group cannot be used with --partition, or with an offset or time in --from", ExitCode.USAGE, hint=hint
        )
    interruption = Interruption()
    cluster = connect(bootstrap_server, properties)
    admin = cluster.admin()
    metadata = cluster.check_topics(topics, admin, needs=("Read",))
    consumer = _consumer(cluster, group, start)
    is_end = partial(_is_end, cluster, group)
    try:
        if group:
            consumer.subscribe(topics)
            messages = _follow(consumer, is_end) if follow else _to_end(consumer, is_end)
        else:
            wanted = _partitions(metadata, topics, partition)
            ends = _assign(consumer, wanted, start)
            messages = _follow(consumer, is_end) if follow else _to_snapshot(consumer, is_end, ends)
        line: Line = to_json_line if output is Shape.JSON else partial(to_text, verbose=verbose)
        _print(consumer, messages, count, line, interruption, live=follow, commit=group is not None)
    except KeyboardInterrupt:
        pass  # the ordinary end of --follow; printed messages are committed below
    finally:
        _leave(consumer, commit=group is not None)


def _consumer(cluster: KafkaClients, group: str | None, start: Start) -> Consumer:
    return cluster.consumer(
        **{
            "group.id": group or "penstock-cli",
            # Only printed messages are stored; stored offsets are committed every second and at the end.
            "enable.auto.commit": group is not None,
            "auto.commit.interval.ms": 1_000,
            "enable.auto.offset.store": False,
            "enable.partition.eof": True,
            "auto.offset.reset": start.position or "earliest",
            "fetch.wait.max.ms": 100,
            **(consumer_properties() if group else {}),
        }
    )


def _partitions(metadata: Any, topics: list[str], only: list[int] | None) -> list[tuple[str, int]]:
    chosen = []
    for topic in topics:
        existing = metadata.topics[topic].partitions
        for index in only or ():
            if index not in existing:
                last = len(existing) - 1
                raise CommandError(f"topic {topic} has no partition {index}, only 0 to {last}", ExitCode.NOT_FOUND)
        chosen += [(topic, index) for index in sorted(set(only or existing))]
    return chosen


def _assign(consumer: Consumer, wanted: list[tuple[str, int]], start: Start) -> Ends:
    """Assign the partitions; return those with something to read, with the offset at which it ends."""
    from confluent_kafka import TopicPartition

    positions = []
    ends: Ends = {}
    with translated("offsets"):
        moments = _at_moment(consumer, wanted, start.timestamp_ms) if start.timestamp_ms is not None else {}
        for topic, index in wanted:
            low, high = consumer.get_watermark_offsets(TopicPartition(topic, index), timeout=REQUEST_TIMEOUT_S)
            if start.timestamp_ms is not None:
                offset = moments[topic, index] if moments[topic, index] >= 0 else high
            elif start.offset is not None:
                offset = min(max(start.offset, low), high)
                if offset != start.offset:
                    note(f"{topic}-{index} has no offset {start.offset}, only {low} to {high}: reading from {offset}")
            else:
                offset = low if start.position == "earliest" else high
            if offset < high:
                ends[topic, index] = high
            positions.append(TopicPartition(topic, index, offset))
        consumer.assign(positions)
    return ends


def _at_moment(consumer: Consumer, wanted: list[tuple[str, int]], timestamp_ms: int) -> Ends:
    from confluent_kafka import TopicPartition

    asked = [TopicPartition(topic, index, timestamp_ms) for topic, index in wanted]
    found = consumer.offsets_for_times(asked, timeout=REQUEST_TIMEOUT_S)
    return {(part.topic, part.partition): part.offset for part in found}


def _follow(consumer: Consumer, is_end: IsEnd) -> Iterator[Message]:
    while True:
        for message in consumer.consume(BATCH_MESSAGES, POLL_S):
            if not is_end(message):
                yield message


def _to_snapshot(consumer: Consumer, is_end: IsEnd, ends: Ends) -> Iterator[Message]:
    """Yield messages up to the ends seen at the start, however fast others write."""
    pending = dict(ends)
    while pending:
        for message in consumer.consume(BATCH_MESSAGES, POLL_S):
            place = (message.topic() or "", message.partition() or 0)
            if is_end(message):
                pending.pop(place, None)
                continue
            offset = message.offset() or 0
            if place in pending and offset < pending[place]:
                yield message
            if offset + 1 >= pending.get(place, 0):
                pending.pop(place, None)


def _to_end(consumer: Consumer, is_end: IsEnd) -> Iterator[Message]:
    """Yield messages until every assigned partition of the member has been read to its end."""
    ended: set[tuple[str | None, int | None]] = set()
    while True:
        for message in consumer.consume(BATCH_MESSAGES, POLL_S):
            place = (message.topic(), message.partition())
            if is_end(message):
                ended.add(place)
            else:
                yield message
        assigned = {(part.topic, part.partition) for part in consumer.assignment()}
        if assigned and assigned <= ended:
            return


def _is_end(cluster: KafkaClients, group: str | None, message: Message) -> bool:
    """Return whether this is the mark of a partition's end, or nothing at all; any other error ends the command.

    The library asks for the coordinator of a group even if it is in none, and rights to groups are not needed then.
    """
    from confluent_kafka import KafkaError

    error = message.error()
    if error is None:
        return False
    if error.code() == KafkaError._PARTITION_EOF:
        return True
    if error.code() == KafkaError.GROUP_AUTHORIZATION_FAILED:
        if group is None:
            return True
        raise may_not(f"read as a member of group {group}", Resource.GROUP, group, "Read")
    if cluster.is_let_in_again(error):
        return True
    raise explain(error, "reading")


class Interruption:
    """Ctrl-C and `kill`, which both end the command with a commit.

    Within the `with` block an interruption waits until its end, so that every printed message is stored; a second one
    does not wait.
    """

    def __init__(self) -> None:
        self._is_held = self._has_come = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._interrupt)

    def _interrupt(self, *_: object) -> None:
        if not self._is_held or self._has_come:
            raise KeyboardInterrupt
        self._has_come = True

    def __enter__(self) -> None:
        self._is_held = True

    def __exit__(self, *_: object) -> None:
        self._is_held = False
        if self._has_come:
            raise KeyboardInterrupt


def _print(
    consumer: Consumer,
    messages: Iterator[Message],
    count: int | None,
    line: Line,
    interruption: Interruption,
    *,
    live: bool,
    commit: bool,
) -> None:
    """Print messages; with `live` each line is flushed before the next message is read."""
    for printed, message in enumerate(messages, start=1):
        with interruption:
            write_text(line(message))
            if live:
                sys.stdout.flush()
            if commit:
                consumer.store_offsets(message)
        if count is not None and printed >= count:
            break
    sys.stdout.flush()


def _leave(consumer: Consumer, *, commit: bool) -> None:
    from confluent_kafka import KafkaError, KafkaException

    try:
        if commit:
            consumer.commit(asynchronous=False)
    except KafkaException as error:
        if error.args[0].code() != KafkaError._NO_OFFSET:
            raise explain(error.args[0], "commit") from error
    finally:
        consumer.close()
