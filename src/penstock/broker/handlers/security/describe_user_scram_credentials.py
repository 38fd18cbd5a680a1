"""DescribeUserScramCredentials (key 50, v0): the SCRAM mechanisms of users and their iterations; no keys.

Behaviour:
- No users, or null: all that there are. A user that does not exist is RESOURCE_NOT_FOUND, one that is named twice
  DUPLICATE_RESOURCE.
- CLUSTER_AUTHORIZATION_FAILED without the right to describe the cluster.

Differs from Kafka: no.

Version notes: none.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from penstock.broker.request import Request
from penstock.model.errors import ErrorCode, KafkaError
from penstock.runtime.turns import Steps
from penstock.security.resources import Operation

if TYPE_CHECKING:
    from penstock.broker.broker import Broker
    from penstock.protocol.kafka.replies.describe_user_scram_credentials import (
        DescribeUserScramCredentialsBuilders,
        DescribeUserScramCredentialsResponse,
        DescribeUserScramCredentialsResult,
    )
    from penstock.protocol.kafka.requests.describe_user_scram_credentials import DescribeUserScramCredentialsRequest

    DescribeUserScramCredentials = Request[DescribeUserScramCredentialsRequest, DescribeUserScramCredentialsBuilders]

_TWICE = "Cannot describe SCRAM credentials for the same user twice in a single request: "
_UNKNOWN = "Attempt to describe a user credential that does not exist: "


def handle(broker: Broker, request: DescribeUserScramCredentials) -> Steps[DescribeUserScramCredentialsResponse]:
    reply = request.reply
    try:
        broker.access.check_cluster(request.session, Operation.DESCRIBE)
    except KafkaError as error:
        refused = reply.DescribeUserScramCredentialsResult(
            user="", error_code=error.code, error_message=error.message, credential_infos=()
        )  # as in Kafka, one without a name
        return reply.DescribeUserScramCredentialsResponse(
            error_code=error.code, error_message=error.message, results=[refused]
        )
    named = Counter(each.name for each in request.body.users or ())
    users = named or dict.fromkeys(sorted(broker.controller.users.table), 1)
    results = []
    for user, count in users.items():
        results.append(_result(broker, request, user, is_repeated=count > 1))
        yield
    return reply.DescribeUserScramCredentialsResponse(
        error_code=ErrorCode.NONE,
        error_message="",  # Kafka's is empty, not null
        results=results,
    )


def _result(
    broker: Broker, request: DescribeUserScramCredentials, user: str, *, is_repeated: bool
) -> DescribeUserScramCredentialsResult:
    reply = request.reply
    credentials = broker.controller.users.table.stored(user)
    code, message = ErrorCode.NONE, ""
    if is_repeated:
        code, message, credentials = ErrorCode.DUPLICATE_RESOURCE, _TWICE + user, {}
    elif not credentials:
        code, message = ErrorCode.RESOURCE_NOT_FOUND, _UNKNOWN + user
    return reply.DescribeUserScramCredentialsResult(
        user=user,
        error_code=code,
        error_message=message,
        credential_infos=[
            reply.CredentialInfo(mechanism=mechanism, iterations=credential.iterations)
            for mechanism, credential in sorted(credentials.items())
        ],
    )
