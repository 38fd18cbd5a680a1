"""What a session without one right gets instead of its answer: the tables that the tests of denials hold the code to.

A request refuses with the error of the resource unless a table here gives it another outcome. Nothing changes.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from penstock.model.errors import ErrorCode
from penstock.security.resources import Operation, ResourceType
from tests.gate.recorder import Asked
from tests.gate.rights import (
    ALTER,
    CLUSTER_ACTION,
    CREATE,
    DELETE,
    DELETE_TOPIC,
    DESCRIBE,
    DESCRIBE_GROUP,
    DESCRIBE_ID,
    DESCRIBE_TOPIC,
    IDEMPOTENT_WRITE,
    KAFKA,
    READ_TOPIC,
    TOPIC_CONFIGS,
    WRITE_TOPIC,
)

Outcomes = dict[tuple[str, Asked], "Outcome"]
RECORD: Final = b"a-record"


class Outcome(Enum):
    """What is missing from an answer that is not an error."""

    REFUSED = "everything: the answer is the error of the resource"
    UNLISTED = "the resource: a list leaves out what the session may not see"
    UNMARKED = "the bit of the operation in the field of authorized operations"
    NO_CONFIGS = "the configs of a new topic"


REFUSALS: Final = {
    ResourceType.TOPIC: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ResourceType.GROUP: ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ResourceType.TRANSACTIONAL_ID: ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ResourceType.CLUSTER: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
}
"""By the kind of resource."""

_CREATE_TOPIC: Final[Asked] = (Operation.CREATE, ResourceType.TOPIC)
_SUBSTITUTES: Final[dict[Asked, Asked]] = {
    CREATE: _CREATE_TOPIC,
    DELETE: DELETE_TOPIC,
    IDEMPOTENT_WRITE: WRITE_TOPIC,
}
"""Rights for which another one serves as well, so that both have to be denied."""
_SUBSTITUTES_HERE: Final[dict[tuple[str, Asked], Asked]] = {
    ("write_txn_markers", ALTER): CLUSTER_ACTION,
    ("offset_for_leader_epoch", DESCRIBE_TOPIC): CLUSTER_ACTION,
    ("list_groups", DESCRIBE): DESCRIBE_GROUP,
    ("GET /api/v1/groups", DESCRIBE): DESCRIBE_GROUP,
    ("GET /push/subscriptions", DESCRIBE): DESCRIBE_GROUP,
}
"""The same, where it holds for one request only."""

KAFKA_OUTCOMES: Final[Outcomes] = {
    ("list_groups", DESCRIBE): Outcome.UNLISTED,
    ("list_transactions", DESCRIBE_ID): Outcome.UNLISTED,
    ("create_topics", TOPIC_CONFIGS): Outcome.NO_CONFIGS,
    **{("describe_groups", right): Outcome.UNMARKED for right in KAFKA["describe_groups"] - {DESCRIBE_GROUP}},
    **{("describe_cluster", right): Outcome.UNMARKED for right in KAFKA["describe_cluster"]},
    **{
        ("describe_topic_partitions", right): Outcome.UNMARKED
        for right in KAFKA["describe_topic_partitions"] - {DESCRIBE_TOPIC}
    },
}

Hidden = dict[tuple[str, Asked], bytes]

NODE_HIDES: Final[Hidden] = {
    ("GET /api/v1/groups", DESCRIBE): b'"s"',
    ("GET /api/v1/groups/{group}/offsets", DESCRIBE_TOPIC): b'"t"',
    ("GET /api/v1/security/tokens", DESCRIBE): b'"User:dora"',
    ("GET /api/v1/topics/{topic}", TOPIC_CONFIGS): b'"configs":{',
    ("GET /api/v1/topics/{topic}", DESCRIBE_GROUP): b'"s"',
    ("GET /api/v1/topics", DESCRIBE_TOPIC): b'"t"',
    ("GET /api/v1/transactions", DESCRIBE_ID): b'"x"',
    ("GET /push/subscriptions", DESCRIBE): b'"s"',
    ("GET /pipe/topics", READ_TOPIC): b'"t"',
    ("POST /pipe/records", READ_TOPIC): RECORD,
    ("GET /health/ready", DESCRIBE): b'"phase"',
}
"""Routes that answer 200 without the right and leave this out: lists, the pipe's records, the details of health."""
REGISTRY_HIDES: Final[Hidden] = {
    ("GET /health", DESCRIBE): b'"nodes"',
    ("GET /health/ready", DESCRIBE): b'"nodes"',
}
EDGE_HIDES: Final[Hidden] = {
    ("GET /health", DESCRIBE): b"b:1",
    ("GET /health/ready", DESCRIBE): b"b:1",
}


def denials(request: str, right: Asked) -> set[Asked]:
    """Everything that has to be denied so that the session does not have the right."""
    return {right, _SUBSTITUTES.get(right, right), _SUBSTITUTES_HERE.get((request, right), right)}


def refusal(right: Asked) -> ErrorCode:
    """The error of a request that lacks the right. To create or to delete a topic is refused in the topic's name."""
    return ErrorCode.TOPIC_AUTHORIZATION_FAILED if right in (CREATE, DELETE) else REFUSALS[right[1]]
