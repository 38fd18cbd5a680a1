"""Tests that pass on Apache Kafka and are known to fail on Penstock, always or now and then, each with its reason.

Short lists, by suite and by a pattern of names. A test that is listed as failing and passes is reported: its line can
go.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

KNOWN_DEADLINE_S = 40

CONSUMER_PROTOCOL = "the consumer protocol of KIP-848"
BROKER_CONFIGS = "broker configs without a meaning here cannot be set"
SHARE_GROUPS = "share groups (KIP-932)"
FLUSH_OF_NOTHING = (
    "a flush with the timeout −1, which does not wait in this client: it passes where offsets are committed slowly, as "
    "on a Kafka that has just started"
)
TEN_SECONDS = "ten steps of up to a second each in ten seconds, which is now and then too short on Kafka, too"
LATE_WATCHER = (
    "the client asks for the topic, which creates it, assigns nothing, and only then begins to watch for partitions: "
    "it passes where creating a topic takes longer than that"
)
POLL_AFTER_CLOSE = "closes consumers that other threads are polling, and a poll of a closed one may not return"
HOOK_HANGS = "the hook after each test hangs, on Kafka, too, and what comes behind it does not run"


@dataclass(frozen=True, slots=True)
class Expected:
    suite: str
    pattern: str
    reason: str


EXPECTED: tuple[Expected, ...] = (
    Expected("franz-go", "Test*Share*", SHARE_GROUPS),
    Expected("franz-go", "Test*848*", CONSUMER_PROTOCOL),
    Expected("kafka-go", "TestConsumerGroupWithTopic", LATE_WATCHER),
    Expected("kafka-go", "TestConsumerGroupWithGroupTopicsSingle", LATE_WATCHER),
    Expected("confluent-kafka-go", "TestTransactionalProducer", FLUSH_OF_NOTHING),
    Expected("librdkafka", "*/do_test_AlterConfigs", BROKER_CONFIGS),
    Expected("librdkafka", "*/do_test_IncrementalAlterConfigs", BROKER_CONFIGS),
)


# Tests that pass one time and fail the other on Penstock only, for a reason that lies in the test.
FLAKY: tuple[Expected, ...] = (
    Expected("librdkafka", "0059_bsearch", TEN_SECONDS),
    Expected("confluent-kafka-go", "TestConsumerCloseForStaticMember", POLL_AFTER_CLOSE),
    Expected("node-rdkafka", "Consumer/Producer *", HOOK_HANGS),
)


def reason_of(suite: str, test: str) -> str | None:
    """Why this test is known to fail, or None."""
    return _reason(EXPECTED, suite, test)


def flaky_reason_of(suite: str, test: str) -> str | None:
    """Why this test is known to fail now and then, or None."""
    return _reason(FLAKY, suite, test)


def _reason(listed: Iterable[Expected], suite: str, test: str) -> str | None:
    for expected in listed:
        if expected.suite == suite and fnmatchcase(test, expected.pattern):
            return expected.reason
    return None


def deadline_s(suite: str, test: str, kind: str, usual_s: int) -> int:
    """How long a test may take on a broker: one that is known to fail by waiting need not wait long."""
    is_known = kind == "penstock" and reason_of(suite, test) is not None
    return min(usual_s, KNOWN_DEADLINE_S) if is_known else usual_s
