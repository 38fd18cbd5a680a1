"""The answer of the two alter-configs APIs: one row per resource, which succeeds or fails by itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable

from penstock.broker.request import AnyRequest
from penstock.model.errors import ErrorCode, KafkaError
from penstock.protocol.kafka.messages import Entity
from penstock.runtime.turns import Turns


async def answer_each(request: AnyRequest, change: Callable[[Entity], Awaitable[None]]) -> list[Entity]:
    """One answer per resource of the request."""
    resources = request.body.resources
    counts = Counter((resource.resource_type, resource.resource_name) for resource in resources)
    answers, turns = [], Turns()
    for resource in resources:
        code, message = ErrorCode.NONE, None
        try:
            if counts[resource.resource_type, resource.resource_name] > 1:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
            await change(resource)
        except KafkaError as error:
            code, message = error.code, error.message
        answers.append(
            request.reply.AlterConfigsResourceResponse(
                error_code=code,
                error_message=message,
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
            )
        )
        await turns.pause()
    return answers
