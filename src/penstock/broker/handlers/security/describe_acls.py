"""DescribeAcls (key 29, v1–3): the rules that a filter finds, by resource.

Behaviour:
- Needs Describe on the cluster. Without an authorizer SECURITY_DISABLED, as in Kafka.
- A pattern type of MATCH finds the rules that apply to a resource of that name: its own, those of `*` and of prefixes.
- A number for a type, pattern, operation or permission that does not exist finds nothing; 0 closes the connection.

Differs from Kafka:
- Rules of the node's policy file are shown, too.

Version notes:
- v2 is flexible; v3 adds the resource type USER.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from penstock.broker.answers.acl_fields import acl_filter, security_disabled
from penstock.broker.answers.array_answer import array_answer
from penstock.broker.request import Request
from penstock.cluster.controller.acls_frontend import AclsFrontend
from penstock.model.errors import ErrorCode, KafkaError
from penstock.protocol.kafka.messages import encode
from penstock.protocol.kafka.primitives import INT16, write_string
from penstock.runtime.turns import Turns
from penstock.security.acl.filter import AclFilter
from penstock.security.acl.rule import AclRule, PatternType
from penstock.security.resources import Operation, ResourceType

if TYPE_CHECKING:
    from penstock.broker.broker import Broker
    from penstock.protocol.kafka.replies.describe_acls import (
        DescribeAclsBuilders,
        DescribeAclsResource,
        DescribeAclsResponse,
    )
    from penstock.protocol.kafka.requests.describe_acls import DescribeAclsRequest

    DescribeAcls = Request[DescribeAclsRequest, DescribeAclsBuilders]

_Pattern = tuple[ResourceType, str, PatternType]


def handle(broker: Broker, request: DescribeAcls) -> DescribeAclsResponse | Coroutine[Any, Any, bytes]:
    wanted = acl_filter(request.body)
    acls = broker.controller.acls
    try:
        broker.access.check_cluster(request.session, Operation.DESCRIBE)
        if acls is None:
            raise security_disabled("No Authorizer is configured on the broker")
    except KafkaError as error:
        return request.reply.DescribeAclsResponse(error_code=error.code, error_message=error.message, resources=[])
    return _answer(request, acls, wanted)


async def _answer(request: DescribeAcls, acls: AclsFrontend, wanted: AclFilter) -> bytes:
    resources: dict[_Pattern, list[AclRule]] = {}
    for rule in await acls.matching(wanted):
        resources.setdefault((rule.kind, rule.name, rule.pattern), []).append(rule)
    encoded = []
    turns = Turns()
    for pattern, rules in resources.items():
        encoded.append(encode(_resource(request, pattern, rules)))
        await turns.pause()
    message = write_string("", request.is_flexible)  # Kafka's is empty, not null
    return array_answer(request, encoded, before=INT16.pack(ErrorCode.NONE) + message)


def _resource(request: DescribeAcls, pattern: _Pattern, rules: list[AclRule]) -> DescribeAclsResource:
    kind, name, pattern_type = pattern
    reply = request.reply
    return reply.DescribeAclsResource(
        resource_type=kind,
        resource_name=name,
        pattern_type=pattern_type,
        acls=[
            reply.AclDescription(
                principal=rule.principal,
                host=rule.host,
                operation=rule.operation,
                permission_type=rule.permission,
            )
            for rule in rules
        ],
    )
