"""Rules whose operation their resource does not have: Kafka's protocol takes them, and its kafka-acls.sh does not.

Commands and the policy file refuse them, because whoever writes such a rule relies on what it does not do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from penstock.security.acl.rule import AclRule
from penstock.security.resources import OPERATIONS, Operation, ResourceType

_HONOURED: Final[Mapping[ResourceType, tuple[Operation, ...]]] = {
    **OPERATIONS,
    # kafka-acls.sh does not know it, but DeleteTopics asks for it, as for Create of the cluster at CreateTopics.
    ResourceType.CLUSTER: (*OPERATIONS[ResourceType.CLUSTER], Operation.DELETE),
}


def fit_problem(rule: AclRule) -> str | None:
    """Why a rule that can be stored would never apply; None if it may."""
    known = (Operation.ALL, *sorted(_HONOURED[rule.kind]))
    if rule.operation in known:
        return None
    names = ", ".join(each.name for each in known)
    return f"{rule.operation.name} is no operation of the resource type {rule.kind.name}, which has {names}"
