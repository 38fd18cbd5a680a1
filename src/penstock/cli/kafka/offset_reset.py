"""The plan of `penstock group reset-offsets`: partitions with their new offsets.

A new offset outside the log is moved to the nearer end, since a consumer could not start there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.cli.kafka.client import REQUEST_TIMEOUT_S, KafkaClients, translated
from penstock.cli.kafka.topic import offset_ranges
from penstock.cli.terminal.errors import CommandError, ExitCode
from penstock.cli.terminal.moment import parse_moment

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

Place = tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reset:
    """The target of a reset: exactly one of these is set."""

    earliest: bool = False
    latest: bool = False
    offset: int | None = None
    timestamp_ms: int | None = None
    shift: int | None = None

    @classmethod
    def from_options(
        cls, earliest: bool, latest: bool, offset: int | None, moment: str | None, shift: int | None
    ) -> Reset:
        if sum((earliest, latest, offset is not None, moment is not None, shift is not None)) != 1:
            raise CommandError(
                "give exactly one of --to-earliest, --to-latest, --to-offset, --to-datetime, --shift-by", ExitCode.USAGE
            )
        timestamp_ms = parse_moment(moment, "--to-datetime") if moment is not None else None
        return cls(earliest=earliest, latest=latest, offset=offset, timestamp_ms=timestamp_ms, shift=shift)


def plan_reset(
    cluster: KafkaClients,
    admin: AdminClient,
    committed: Mapping[Place, int],
    topics: Sequence[str] | None,
    reset: Reset,
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return a row per partition with the old and the new offset, and remarks about offsets outside the log."""
    places = _named(cluster, admin, topics) if topics else sorted(committed)
    ranges = offset_ranges(admin, places)
    moments = _at_moment(admin, places, reset.timestamp_ms) if reset.timestamp_ms is not None else {}
    rows, remarks = [], []
    for place in places:
        start, end = ranges[place]
        current = committed.get(place)
        if reset.earliest:
            target = start
        elif reset.latest:
            target = end
        elif reset.offset is not None:
            target = reset.offset
        elif reset.shift is not None:
            target = (start if current is None else current) + reset.shift
        else:
            target = moments[place] if moments[place] >= 0 else end
        reachable = min(max(target, start), end)
        if reachable != target:
            side = "end" if target > end else "start"
            remarks.append(f"{place[0]}-{place[1]} has no offset {target}, only {start} to {end}: using its {side}")
        rows.append({"topic": place[0], "partition": place[1], "from": current, "to": reachable})
    return rows, remarks


def _named(cluster: KafkaClients, admin: AdminClient, topics: Sequence[str]) -> list[Place]:
    """Parse TOPIC (all partitions) or TOPIC:0,2 (some)."""
    named = [text.partition(":") for text in topics]
    metadata = cluster.check_topics([name for name, _, _ in named], admin, needs=("Read",))
    places: set[Place] = set()
    for name, colon, numbers in named:
        existing = metadata.topics[name].partitions
        for number in numbers.split(",") if colon else map(str, existing):
            if not number.isdecimal():
                raise CommandError(f"--topic {name}:{numbers} is not TOPIC:PARTITION,…", ExitCode.USAGE)
            if int(number) not in existing:
                last = len(existing) - 1
                raise CommandError(f"topic {name} has no partition {number}, only 0 to {last}", ExitCode.NOT_FOUND)
            places.add((name, int(number)))
    return sorted(places)


def _at_moment(admin: AdminClient, places: Sequence[Place], timestamp_ms: int) -> dict[Place, int]:
    """Return the first offset at or after a time for each partition, -1 if there is none."""
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import OffsetSpec

    wanted = {TopicPartition(topic, index): OffsetSpec.for_timestamp(timestamp_ms) for topic, index in places}
    with translated("offsets"):
        answers = admin.list_offsets(wanted, request_timeout=REQUEST_TIMEOUT_S)
        return {(part.topic, part.partition): answer.result().offset for part, answer in answers.items()}
