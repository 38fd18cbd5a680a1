"""CreateAcls (key 30, v1–3): add rules.

Behaviour:
- Needs Alter on the cluster. Without an authorizer every rule is SECURITY_DISABLED, as in Kafka.
- A rule that is already there is no error. INVALID_REQUEST for an empty name, another cluster than kafka-cluster, a
  principal without a type, or a number that does not exist; the other rules of the request are created.
- ANY or MATCH in a rule is UNKNOWN_SERVER_ERROR for all of them; 0 closes the connection.
- More than 10,000 new rules are POLICY_VIOLATION for all of them.
- Durable before it is answered. The rules hold for the next request of every client.

Differs from Kafka:
- POLICY_VIOLATION above 100,000 rules in all.

Version notes:
- v2 is flexible; v3 adds the resource type USER.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.broker.answers.acl_fields import acl_rule, security_disabled
from penstock.broker.request import Request
from penstock.model.errors import ErrorCode, KafkaError
from penstock.runtime.turns import Turns
from penstock.security.resources import Operation

if TYPE_CHECKING:
    from penstock.broker.broker import Broker
    from penstock.protocol.kafka.replies.create_acls import (
        AclCreationResult,
        CreateAclsBuilders,
        CreateAclsResponse,
    )
    from penstock.protocol.kafka.requests.create_acls import CreateAclsRequest

    CreateAcls = Request[CreateAclsRequest, CreateAclsBuilders]


async def handle(broker: Broker, request: CreateAcls) -> CreateAclsResponse:
    rules, turns = [], Turns()
    for item in request.body.creations:
        rules.append(acl_rule(item))
        await turns.pause()
    results: list[KafkaError | None]
    try:
        broker.access.check_cluster(request.session, Operation.ALTER)
        acls = broker.controller.acls
        if acls is None:
            raise security_disabled()
        results = await acls.create(rules)
    except KafkaError as error:  # a missing right, or the store: none of them was created
        results = [error.kept()] * len(rules)
    answers = []
    for rule, failure in zip(rules, results, strict=True):
        if failure is None:
            broker.access.audit.changed(request.session, "create acl", str(rule))
        answers.append(_result(request, failure))
        await turns.pause()
    return request.reply.CreateAclsResponse(results=answers)


def _result(request: CreateAcls, error: KafkaError | None) -> AclCreationResult:
    return request.reply.AclCreationResult(
        error_code=error.code if error else ErrorCode.NONE,
        error_message=error.message if error else "",  # Kafka's is empty without an error, not null
    )
