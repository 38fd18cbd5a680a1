"""DescribeConfigs (key 32, v1–4): the configs of topics, brokers, groups and client-metrics subscriptions.

Behaviour:
- Null or empty keys mean all; keys that do not exist are left out.
- A broker is asked for by its id; '' stands for all brokers and shows only configs set for all at run time.
- Resources that may not be described are behind the others.
- Groups and subscriptions without configs are described with defaults, whether they exist or not.

Differs from Kafka:
- A broker shows the configs that mean something here, and its loggers are an empty list, since none can be changed over
  the wire.
- A request whose answer would be larger than 100 MiB closes the connection.

Version notes:
- v1 adds synonyms; v3 types and documentation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from penstock.broker.answers.answer_size import AnswerSize
from penstock.broker.answers.array_answer import array_answer
from penstock.broker.request import Request
from penstock.config.config_layers import DescribedConfig
from penstock.model.errors import ErrorCode, KafkaError
from penstock.protocol.kafka.messages import encode
from penstock.protocol.kafka.versioned import field
from penstock.runtime.turns import Turns

if TYPE_CHECKING:
    from penstock.broker.broker import Broker
    from penstock.protocol.kafka.replies.describe_configs import (
        DescribeConfigsBuilders,
        DescribeConfigsResourceResult,
        DescribeConfigsResult,
    )
    from penstock.protocol.kafka.requests.describe_configs import DescribeConfigsRequest, DescribeConfigsResource

    DescribeConfigs = Request[DescribeConfigsRequest, DescribeConfigsBuilders]

_REFUSED: Final = (
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
)


async def handle(broker: Broker, request: DescribeConfigs) -> bytes:
    results: list[bytes] = []
    refused: list[bytes] = []
    turns = Turns()
    size = AnswerSize(broker.flow)
    for resource in request.body.resources:
        result = _result(broker, request, resource)
        encoded = encode(result)
        size.add(len(encoded))
        (refused if int(result.error_code) in _REFUSED else results).append(encoded)
        await turns.pause()
    return array_answer(request, results + refused)


def _result(broker: Broker, request: DescribeConfigs, resource: DescribeConfigsResource) -> DescribeConfigsResult:
    code, message = ErrorCode.NONE, ""
    configs: Sequence[DescribedConfig] = ()
    try:
        configs = broker.operations.config_descriptions.of_resource(
            request.session, resource.resource_type, resource.resource_name
        )
    except KafkaError as error:
        code, message = error.code, error.message or ""
    if configs and resource.configuration_keys:
        keys = set(resource.configuration_keys)
        configs = [config for config in configs if config.name in keys]
    return request.reply.DescribeConfigsResult(
        error_code=code,
        error_message=message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
        configs=[_config(request, config) for config in configs],
    )


def _config(request: DescribeConfigs, config: DescribedConfig) -> DescribeConfigsResourceResult:
    reply = request.reply
    synonyms = config.synonyms if request.body.include_synonyms else ()
    documented = field(request.body, "include_documentation", False)
    return reply.DescribeConfigsResourceResult(
        name=config.name,
        value=config.value,
        read_only=config.read_only,
        config_source=config.source,
        is_sensitive=config.sensitive,
        synonyms=[
            reply.DescribeConfigsSynonym(name=synonym.name, value=synonym.value, source=synonym.source)
            for synonym in synonyms
        ],
        config_type=config.type,
        documentation=config.documentation if documented else None,
    )
