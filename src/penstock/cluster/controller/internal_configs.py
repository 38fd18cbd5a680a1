"""Configs of the broker's own topics: those that they are made with, and the changes that they do not take.

Committed offsets and the decisions of transactions are records of these topics and nowhere else, so nobody may have
them dropped by age or size, or have the broker's own records refused. Kafka takes such changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from penstock.config.config_key import to_list
from penstock.config.topic_configs import TOPIC_CONFIGS
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.topic_name import CONSUMER_OFFSETS, TRANSACTION_STATE

_POLICY: Final = "cleanup.policy"
_COMPACTED: Final = {_POLICY: "compact", "segment.bytes": "104857600"}
INTERNAL_CONFIGS: Final[Mapping[str, Mapping[str, str]]] = {
    CONSUMER_OFFSETS: {**_COMPACTED, "compression.type": "producer"},
    TRANSACTION_STATE: {**_COMPACTED, "compression.type": "uncompressed"},
}
"""By the name of the topic."""

_NOT_LOWERED: Final = ("max.message.bytes", "message.timestamp.after.max.ms", "message.timestamp.before.max.ms")
"""Configs by which a log refuses records."""


def check_internal(name: str, configs: Mapping[str, str]) -> None:
    """KafkaError if a topic of the broker's own, with these explicit configs, could lose or refuse its records."""
    policies = to_list(configs.get(_POLICY, "delete"))
    if "delete" in policies:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            f"{name} needs {_POLICY}=compact: with delete it would lose committed offsets or transactions",
        )
    for key in _NOT_LOWERED:
        least = int(TOPIC_CONFIGS[key].default or 0)
        if int(configs.get(key, least)) < least:
            raise KafkaError(
                ErrorCode.INVALID_CONFIG, f"{name} needs {key} of at least {least}: it has the broker's own records"
            )
