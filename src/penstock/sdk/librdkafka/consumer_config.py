"""A consumer's settings as librdkafka's, with a check for contradictions."""

from __future__ import annotations

import datetime
import uuid
from typing import Any

from penstock.sdk.errors import SettingsError
from penstock.sdk.librdkafka.common_config import common_config
from penstock.sdk.options import ConsumerOptions

_ASSIGNORS = {
    "range": "range",
    "round-robin": "roundrobin",
    # librdkafka has the sticky assignment in its cooperative form alone.
    "sticky": "cooperative-sticky",
    "cooperative-sticky": "cooperative-sticky",
}
_OF_GROUPS = (
    "instance_id",
    "auto_commit",
    "auto_commit_interval_ms",
    "assignor",
    "session_timeout_ms",
    "heartbeat_interval_ms",
    "on_assign",
    "on_revoke",
    "on_lost",
)


def consumer_config(bootstrap: str, options: ConsumerOptions, given: set[str], *, has_producer: bool) -> dict[str, Any]:
    _check(options, given, has_producer)
    commits = "group" in options and options["delivery"] == "at-least-once" and options["auto_commit"]
    config: dict[str, Any] = {
        **common_config(bootstrap, options),
        # librdkafka requires a group; without commits and subscriptions it is never sent to a broker.
        "group.id": options.get("group") or f"penstock-{uuid.uuid4()}",
        "enable.auto.commit": commits,
        "enable.auto.offset.store": False,
        "auto.commit.interval.ms": options["auto_commit_interval_ms"],
        "auto.offset.reset": "latest" if options["start"] == "latest" else "earliest",
        "partition.assignment.strategy": _ASSIGNORS[options["assignor"]],
        "session.timeout.ms": options["session_timeout_ms"],
        "heartbeat.interval.ms": options["heartbeat_interval_ms"],
        "max.poll.interval.ms": options["max_poll_interval_ms"],
        "isolation.level": f"read_{options['isolation']}",
        "enable.partition.eof": False,
    }
    if "instance_id" in options:
        config["group.instance.id"] = options["instance_id"]
    return config


def _check(options: ConsumerOptions, given: set[str], has_producer: bool) -> None:
    delivery = options["delivery"]
    if "group" not in options:
        lost = [name for name in _OF_GROUPS if name in given]
        if delivery != "at-least-once" or "delivery" in given:
            lost.append("delivery")
        if lost:
            raise SettingsError(f"{', '.join(lost)} without a group", hint="give group='…', or leave it out")
    if delivery == "exactly-once" and not has_producer:
        hint = "give producer=Producer(…, transactional_id='…'), in whose transactions the offsets are committed"
        raise SettingsError("delivery='exactly-once' without a producer that has a transactional_id", hint=hint)
    if delivery == "exactly-once" and options["isolation"] == "uncommitted":
        raise SettingsError("delivery='exactly-once' with isolation='uncommitted'", hint="leave isolation out")
    if has_producer and delivery != "exactly-once":
        raise SettingsError(
            f"producer= with delivery={delivery!r}", hint="say delivery='exactly-once', or leave it out"
        )
    if delivery != "at-least-once" and given & {"auto_commit", "auto_commit_interval_ms"}:
        hint = "leave it out: at-most-once commits before, exactly-once with the transaction"
        raise SettingsError(f"auto_commit with delivery={delivery!r}", hint=hint)
    if not options["auto_commit"] and "auto_commit_interval_ms" in given:
        raise SettingsError("auto_commit_interval_ms with auto_commit=False", hint="leave one of them out")
    if options["heartbeat_interval_ms"] >= options["session_timeout_ms"]:
        text = f"heartbeat_interval_ms={options['heartbeat_interval_ms']} is not less than session_timeout_ms"
        raise SettingsError(f"{text}={options['session_timeout_ms']}", hint="a third of it is usual")
    if options["max_poll_interval_ms"] < options["session_timeout_ms"]:
        text = f"max_poll_interval_ms={options['max_poll_interval_ms']} is less than session_timeout_ms"
        raise SettingsError(f"{text}={options['session_timeout_ms']}", hint="raise it")
    start = options["start"]
    if isinstance(start, datetime.datetime) and start.tzinfo is None:
        raise SettingsError("start is a time without a zone", hint="write datetime(…, tzinfo=UTC)")
