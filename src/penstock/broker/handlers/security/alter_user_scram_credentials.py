"""AlterUserScramCredentials (key 51, v0): set and remove SCRAM credentials of users.

Behaviour:
- Each user succeeds or fails as a whole and has one result; those that succeed are changed together, and the change is
  durable before it is answered. Logins that follow are checked against it.
- UNACCEPTABLE_CREDENTIAL: an empty name, fewer than 4,096 iterations or more than 16,384. UNSUPPORTED_SASL_MECHANISM:
  neither SCRAM-SHA-256 nor SCRAM-SHA-512. RESOURCE_NOT_FOUND: a credential to delete that does not exist.
  DUPLICATE_RESOURCE: a user that occurs twice.
- CLUSTER_AUTHORIZATION_FAILED without the right to alter the cluster.

Differs from Kafka:
- UNACCEPTABLE_CREDENTIAL also for names that SASLprep would change or that have more than 255 bytes, and for
  salts that are empty or have more than 255: such a user could not log in.
- POLICY_VIOLATION above 100,000 users; Kafka has no limit.

Version notes: none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from penstock.broker.request import Request
from penstock.cluster.controller.users_frontend import Deletion, Upsertion
from penstock.model.errors import ErrorCode, KafkaError
from penstock.runtime.turns import Steps, Turns, finish
from penstock.security.resources import Operation
from penstock.security.users.credential import ScramMechanism

if TYPE_CHECKING:
    from penstock.broker.broker import Broker
    from penstock.protocol.kafka.replies.alter_user_scram_credentials import (
        AlterUserScramCredentialsBuilders,
        AlterUserScramCredentialsResponse,
        AlterUserScramCredentialsResult,
    )
    from penstock.protocol.kafka.requests.alter_user_scram_credentials import AlterUserScramCredentialsRequest

    AlterUserScramCredentials = Request[AlterUserScramCredentialsRequest, AlterUserScramCredentialsBuilders]


async def handle(broker: Broker, request: AlterUserScramCredentials) -> AlterUserScramCredentialsResponse:
    deletions, upsertions = await finish(_changes(request))
    results: dict[str, KafkaError | None]
    try:
        broker.access.check_cluster(request.session, Operation.ALTER)
        results = await broker.controller.users.alter(deletions, upsertions)
    except KafkaError as error:  # a missing right, or the store: none of them was changed
        users = [each.user for each in deletions] + [each.user for each in upsertions]
        results = dict.fromkeys(users, error.kept())
    turns = Turns()
    for act, user, mechanism in [("remove credential", *each) for each in deletions] + [
        ("set credential", each.user, each.mechanism) for each in upsertions
    ]:
        if results[user] is None:
            broker.access.audit.changed(request.session, act, f"{user} {ScramMechanism(mechanism).title}")
        await turns.pause()
    return request.reply.AlterUserScramCredentialsResponse(results=await finish(_results(request, results)))


def _changes(request: AlterUserScramCredentials) -> Steps[tuple[list[Deletion], list[Upsertion]]]:
    deletions, upsertions = [], []
    for deleted in request.body.deletions:
        deletions.append(Deletion(deleted.name, deleted.mechanism))
        yield
    for each in request.body.upsertions:
        upsertions.append(
            Upsertion(each.name, each.mechanism, each.iterations, bytes(each.salt), bytes(each.salted_password))
        )
        yield
    return deletions, upsertions


def _results(
    request: AlterUserScramCredentials, results: Mapping[str, KafkaError | None]
) -> Steps[list[AlterUserScramCredentialsResult]]:
    answers = []
    for user, error in results.items():
        answers.append(
            request.reply.AlterUserScramCredentialsResult(
                user=user,
                error_code=error.code if error else ErrorCode.NONE,
                error_message=error.message if error else None,
            )
        )
        yield
    return answers
