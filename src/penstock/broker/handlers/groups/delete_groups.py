"""DeleteGroups (key 42, v0–2): delete groups that have no members, with all their offsets.

Behaviour:
- Answered when the deletion is on disk.

Differs from Kafka:
- The offsets of a group go in several batches if they are many, and the group with the last; meanwhile the group takes
  no commits and no members (COORDINATOR_NOT_AVAILABLE).

Version notes: none.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from penstock.broker.broker import Broker
from penstock.broker.request import Request
from penstock.model.errors import ErrorCode, KafkaError
from penstock.runtime.turns import Turns

if TYPE_CHECKING:
    from penstock.protocol.kafka.replies.delete_groups import DeleteGroupsBuilders, DeleteGroupsResponse
    from penstock.protocol.kafka.requests.delete_groups import DeleteGroupsRequest

    DeleteGroups = Request[DeleteGroupsRequest, DeleteGroupsBuilders]

GROUPS_AT_ONCE = 50
"""Deletions that wait for the disk together; each is a task, and the loop runs all tasks that it has."""


async def handle(broker: Broker, request: DeleteGroups) -> DeleteGroupsResponse:
    names = list(dict.fromkeys(request.body.groups_names))
    results, turns = [], Turns()
    for first in range(0, len(names), GROUPS_AT_ONCE):
        some = names[first : first + GROUPS_AT_ONCE]
        codes = await asyncio.gather(*(_delete(broker, request, name) for name in some))
        results += [
            request.reply.DeletableGroupResult(group_id=name, error_code=code)
            for name, code in zip(some, codes, strict=True)
        ]
        await turns.pause()
    return request.reply.DeleteGroupsResponse(results=results)


async def _delete(broker: Broker, request: DeleteGroups, group_id: str) -> ErrorCode:
    try:
        await broker.operations.groups.delete(request.session, group_id)
    except KafkaError as error:
        return error.code
    return ErrorCode.NONE
