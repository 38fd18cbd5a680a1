"""Tests that pass on Apache Kafka and are known to fail on Penstock, each with its reason.

A short list, by suite and by a pattern of names. A test that is listed and passes is reported: its line can go.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

TRANSACTIONS = "transactions"
ACLS = "ACLs"
SCRAM = "SASL and its credentials"
CONSUMER_PROTOCOL = "the consumer protocol of KIP-848"
SHARE_GROUPS = "share groups (KIP-932)"


@dataclass(frozen=True, slots=True)
class Expected:
    suite: str
    pattern: str
    reason: str


EXPECTED: tuple[Expected, ...] = (
    Expected("kafka-python", "*::test_transactional_*", TRANSACTIONS),
    Expected("kafka-python", "*::test_create_describe_delete_acls", ACLS),
)


def reason_of(suite: str, test: str) -> str | None:
    """Why this test is known to fail, or None."""
    for expected in EXPECTED:
        if expected.suite == suite and fnmatchcase(test, expected.pattern):
            return expected.reason
    return None
