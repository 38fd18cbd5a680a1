"""The broker's own words for a message or a deletion that it refused with POLICY_VIOLATION.

A broker's answers to Produce and DeleteTopics say why they refuse: that the topic is a mirror, and of which parent. The
Python client drops that text and leaves "Policy violation"; an answer to DeleteRecords has no place for it. A request
that changes nothing, and that the broker refuses with the same text, recovers it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, NewPartitions

from penstock.sdk.librdkafka.common_config import logger
from penstock.sdk.librdkafka.errors import cause

TIMEOUT_S = 5.0


class PolicyTexts:
    """Texts by topic, each asked for once. It may be used from delivery callbacks: it has a client of its own."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._config = dict(config)
        self._known: dict[str, str] = {}

    def of(self, error: KafkaError, topic: str) -> str:
        """Return the reason for a refused message; empty if the error says all that is known."""
        if error.code() != KafkaError.POLICY_VIOLATION:
            return ""
        if topic not in self._known:
            self._known[topic] = policy_text(AdminClient(self._config, logger=logger), error, topic)
        return self._known[topic]


def policy_text(admin: AdminClient, error: KafkaError, topic: str) -> str:
    """Ask for the reason why a topic may not be changed; empty if the error is another one, or nothing is known."""
    if error.code() != KafkaError.POLICY_VIOLATION:
        return ""
    try:
        wanted = [NewPartitions(topic, 1)]
        admin.create_partitions(wanted, validate_only=True, request_timeout=TIMEOUT_S)[topic].result(TIMEOUT_S)
    except KafkaException as refused:
        found = cause(refused)
        return found.str() or "" if found.code() == KafkaError.POLICY_VIOLATION else ""
    except TimeoutError:
        return ""
    return ""
