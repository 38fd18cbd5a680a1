"""A program that copies a topic to another with one of the SDK's promises, to be killed.

    python -m tests.sdk.copier PROMISE JSON

with the keys bootstrap, group, source, target and name. It prints a line for each record that it has copied, so that
whoever kills it knows how far it is.
"""

import json
import sys
from collections.abc import Callable
from typing import Any

from penstock import Consumer, Producer
from penstock.sdk import TransactionAborted

BATCH = 20
SHORT: Any = {"session_timeout_ms": 1_500, "heartbeat_interval_ms": 300, "assignor": "cooperative-sticky"}


def say(value: bytes) -> None:
    sys.stdout.write(f"{value.decode()}\n")
    sys.stdout.flush()


def at_most_once(given: dict[str, str]) -> None:
    """Committed, then copied."""
    copy_one_by_one(given, delivery="at-most-once", max_poll_records=BATCH)


def at_least_once(given: dict[str, str]) -> None:
    """Copied, then committed."""
    copy_one_by_one(given, delivery="at-least-once", auto_commit_interval_ms=500)


def copy_one_by_one(given: dict[str, str], **options: Any) -> None:
    with (
        Producer(given["bootstrap"], linger_ms=0) as producer,
        Consumer(given["bootstrap"], given["source"], group=given["group"], **SHORT, **options) as consumer,
    ):
        for record in consumer:
            producer.send(given["target"], record.value).result()
            say(record.value)


def exactly_once(given: dict[str, str]) -> None:
    """Copied and committed in one transaction."""
    producer: Producer[bytes] = Producer(
        given["bootstrap"], transactional_id=given["name"], linger_ms=0, transaction_timeout_ms=20_000
    )
    promise: Any = {"delivery": "exactly-once", "producer": producer}
    with (
        producer,
        Consumer(given["bootstrap"], given["source"], group=given["group"], **SHORT, **promise) as consumer,
    ):
        while True:
            try:
                with consumer.transaction(BATCH) as records:
                    for record in records:
                        producer.send(given["target"], record.value).result()
                        say(record.value)
            except TransactionAborted:
                continue


PROMISES: dict[str, Callable[[dict[str, str]], None]] = {
    "at-most-once": at_most_once,
    "at-least-once": at_least_once,
    "exactly-once": exactly_once,
}

if __name__ == "__main__":
    PROMISES[sys.argv[1]](json.loads(sys.argv[2]))
