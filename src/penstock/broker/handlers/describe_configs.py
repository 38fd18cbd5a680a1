"""DescribeConfigs (key 32, v1–4): the configs of topics, brokers, groups and client-metrics subscriptions.

Behaviour:
- Null or empty keys mean all; keys that do not exist are left out.
- A broker is asked for by its id; '' stands for all brokers and shows only what was set for all at run time.
- Loggers of a broker: none can be changed over the wire, so the list is empty.
- Groups and subscriptions nobody configured are described with defaults, whether they exist or not.

Version notes: v1 synonyms; v3 types and documentation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.broker.array_answer import array_answer
from penstock.broker.call import Call
from penstock.broker.config_targets import broker_id_of
from penstock.cluster.config_changes import ResourceType
from penstock.cluster.controller import CLIENT_METRICS, GROUP
from penstock.config.broker_configs import describe_broker, describe_default_broker
from penstock.config.client_metrics_configs import describe_client_metrics
from penstock.config.config_layers import DescribedConfig
from penstock.config.resource_configs import describe_group
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.topic_name import check_topic_name
from penstock.protocol.kafka.messages import Entity, encode, field
from penstock.runtime.turns import Turns

if TYPE_CHECKING:
    from penstock.broker.broker import Broker


async def handle(broker: Broker, call: Call) -> bytes:
    results = []
    turns = Turns()
    for resource in call.request.resources:
        results.append(encode(_result(broker, call, resource)))
        await turns.pause()
    return array_answer(call, results)


def _result(broker: Broker, call: Call, resource: Entity) -> Entity:
    code, message = ErrorCode.NONE, ""
    configs: Sequence[DescribedConfig] = ()
    try:
        configs = _describe(broker, resource.resource_type, resource.resource_name)
    except KafkaError as error:
        code, message = error.code, error.message or ""
    keys = resource.configuration_keys
    wanted = [config for config in configs if not keys or config.name in keys]
    return call.reply.DescribeConfigsResult(
        error_code=code,
        error_message=message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
        configs=[_config(call, config) for config in wanted],
    )


def _describe(broker: Broker, kind: int, name: str) -> Sequence[DescribedConfig]:
    match ResourceType(kind):
        case ResourceType.TOPIC:
            return _topic(broker, name)
        case ResourceType.BROKER:
            return _broker(broker, name)
        case ResourceType.BROKER_LOGGER:
            if not name:
                raise _invalid("Broker id must not be empty")
            _check_broker_id(broker, name, f"expected {broker.node_id}, but received {name}")
            return ()
        case ResourceType.CLIENT_METRICS:
            if not name:
                raise _invalid("Client metrics subscription name must not be empty")
            return describe_client_metrics(broker.controller.configs(CLIENT_METRICS, name))
        case ResourceType.GROUP:
            if not name:
                raise _invalid("Group name must not be empty")
            return describe_group(broker.controller.configs(GROUP, name))
    raise _invalid(f"Unknown resource type {kind}")


def _topic(broker: Broker, name: str) -> Sequence[DescribedConfig]:
    check_topic_name(name)
    topic = broker.topics.get(name)
    if topic is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return broker.controller.layers.describe_topic(topic.configs)


def _broker(broker: Broker, name: str) -> Sequence[DescribedConfig]:
    layers = broker.controller.layers
    if not name:
        return describe_default_broker(layers)
    _check_broker_id(broker, name, f"expected {broker.node_id} or empty string, but received {name}")
    return describe_broker(broker.settings, layers)


def _check_broker_id(broker: Broker, name: str, unexpected: str) -> None:
    try:
        broker_id = broker_id_of(name)
    except ValueError:
        raise _invalid(f"Broker id must be an integer, but it is: {name}") from None
    if broker_id != broker.node_id:
        raise _invalid(f"Unexpected broker id, {unexpected}")


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, message)


def _config(call: Call, config: DescribedConfig) -> Entity:
    reply = call.reply
    synonyms = config.synonyms if call.request.include_synonyms else ()
    documented = field(call.request, "include_documentation", False)
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
