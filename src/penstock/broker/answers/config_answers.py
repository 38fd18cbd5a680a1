"""The answer of the two alter-configs APIs: one row per resource, which succeeds or fails by itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sized

from penstock.broker.request import AnyRequest
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.limits import CONFIGS_OF_RESOURCE_MAX
from penstock.protocol.kafka.messages import Entity
from penstock.runtime.turns import Turns


async def answer_each(request: AnyRequest, change: Callable[[Entity], Awaitable[None]]) -> list[Entity]:
    """One answer per resource of the request."""
    resources = request.body.resources
    counts: Counter[tuple[int, str]] = Counter()
    answers, turns = [], Turns()
    for resource in resources:
        counts[resource.resource_type, resource.resource_name] += 1
        await turns.pause()
    for resource in resources:
        code, message = ErrorCode.NONE, None
        try:
            if counts[resource.resource_type, resource.resource_name] > 1:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
            check_config_count(resource.configs)
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


def check_config_count(configs: Sized) -> None:
    """KafkaError for more configs of one resource than anybody could mean, which would be gone over at once."""
    if len(configs) > CONFIGS_OF_RESOURCE_MAX:
        message = f"{len(configs)} configs of one resource, more than {CONFIGS_OF_RESOURCE_MAX}"
        raise KafkaError(ErrorCode.INVALID_REQUEST, message)
