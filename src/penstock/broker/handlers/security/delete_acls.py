"""DeleteAcls (key 31, v1–3): delete the rules that filters find.

Behaviour:
- Needs Alter on the cluster. Without an authorizer every filter is SECURITY_DISABLED, as in Kafka.
- The answer has the rules that each filter found. A filter that finds none is no error.
- A number that does not exist is INVALID_REQUEST for its filter; 0 closes the connection.
- More than 10,000 rules to delete are INVALID_REQUEST for all filters.
- Durable before it is answered. What the rules allowed is refused at the next request of every client.

Differs from Kafka:
- A rule of the node's policy file is found, and stays: POLICY_VIOLATION beside it.

Version notes:
- v2 is flexible; v3 adds the resource type USER.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.broker.answers.acl_fields import acl_filter, security_disabled
from penstock.broker.request import Request
from penstock.cluster.controller.acls_frontend import MatchedRule
from penstock.model.errors import ErrorCode, KafkaError
from penstock.runtime.turns import Turns
from penstock.security.resources import Operation

if TYPE_CHECKING:
    from penstock.broker.broker import Broker
    from penstock.protocol.kafka.replies.delete_acls import (
        DeleteAclsBuilders,
        DeleteAclsFilterResult,
        DeleteAclsMatchingAcl,
        DeleteAclsResponse,
    )
    from penstock.protocol.kafka.requests.delete_acls import DeleteAclsRequest

    DeleteAcls = Request[DeleteAclsRequest, DeleteAclsBuilders]


async def handle(broker: Broker, request: DeleteAcls) -> DeleteAclsResponse:
    filters, turns = [], Turns()
    for item in request.body.filters:
        filters.append(acl_filter(item))
        await turns.pause()
    results: list[list[MatchedRule] | KafkaError]
    try:
        broker.access.check_cluster(request.session, Operation.ALTER)
        acls = broker.controller.acls
        if acls is None:
            raise security_disabled()
        results = await acls.delete(filters)
    except KafkaError as error:  # a missing right, or the store: none of them was deleted
        results = [error.kept()] * len(filters)
    deleted = {match.rule: None for found in results if isinstance(found, list) for match in found if not match.error}
    for rule in deleted:
        broker.access.audit.changed(request.session, "delete acl", str(rule))
        await turns.pause()
    answers = []
    for found in results:
        answers.append(_result(request, found))
        await turns.pause()
    return request.reply.DeleteAclsResponse(filter_results=answers)


def _result(request: DeleteAcls, found: list[MatchedRule] | KafkaError) -> DeleteAclsFilterResult:
    failure = found if isinstance(found, KafkaError) else None
    return request.reply.DeleteAclsFilterResult(
        error_code=failure.code if failure else ErrorCode.NONE,
        error_message=failure.message if failure else None,
        matching_acls=[_matching(request, match) for match in found] if isinstance(found, list) else [],
    )


def _matching(request: DeleteAcls, match: MatchedRule) -> DeleteAclsMatchingAcl:
    rule, error = match
    return request.reply.DeleteAclsMatchingAcl(
        error_code=error.code if error else ErrorCode.NONE,
        error_message=error.message if error else None,
        resource_type=rule.kind,
        resource_name=rule.name,
        pattern_type=rule.pattern,
        principal=rule.principal,
        host=rule.host,
        operation=rule.operation,
        permission_type=rule.permission,
    )
