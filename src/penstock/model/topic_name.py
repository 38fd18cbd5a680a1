"""Valid names of topics, and names that collide (Kafka's rules, with its texts)."""

from __future__ import annotations

import re

from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.limits import TOPIC_NAME_LENGTH_MAX

CONSUMER_OFFSETS = "__consumer_offsets"
TRANSACTION_STATE = "__transaction_state"
INTERNAL_NAMES = frozenset({CONSUMER_OFFSETS, TRANSACTION_STATE, "__share_group_state"})
"""Topics that belong to the broker: users may read and configure them, but not create, delete or resize them."""

_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


def check_topic_name(name: str) -> None:
    """Raise INVALID_TOPIC_EXCEPTION unless `name` can be the name of a topic."""
    problem = _problem(name)
    if problem is not None:
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {problem}")


def is_topic_name(name: str) -> bool:
    return _problem(name) is None


def _problem(name: str) -> str | None:
    if not name:
        return "the empty string is not allowed"
    if name in (".", ".."):
        return f"'{name}' is not allowed"
    if len(name) > TOPIC_NAME_LENGTH_MAX:
        return f"the length of '{name}' is longer than the max allowed length {TOPIC_NAME_LENGTH_MAX}"
    if _LEGAL.fullmatch(name) is None:
        return f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    return None


def collision_key(name: str) -> str:
    """Two topics collide when these are equal: metric names cannot tell '.' from '_'."""
    return name.replace(".", "_")
