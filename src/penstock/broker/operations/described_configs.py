"""What configs a topic, a broker, a group or a client-metrics subscription has: the answer behind DescribeConfigs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.broker.operations.config_targets import broker_id_of
from penstock.cluster.controller.config_changes import ResourceType
from penstock.cluster.controller.configs_frontend import CLIENT_METRICS, GROUP
from penstock.config.broker_configs import describe_broker, describe_default_broker
from penstock.config.client_metrics_configs import describe_client_metrics
from penstock.config.config_layers import DescribedConfig
from penstock.config.resource_configs import describe_group
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.topic_name import check_topic_name

if TYPE_CHECKING:
    from penstock.broker.broker import Broker


def described_configs(broker: Broker, kind: int, name: str) -> Sequence[DescribedConfig]:
    """KafkaError if there is no such thing."""
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
            return describe_client_metrics(broker.controller.configs.explicit(CLIENT_METRICS, name))
        case ResourceType.GROUP:
            if not name:
                raise _invalid("Group name must not be empty")
            return describe_group(broker.controller.configs.explicit(GROUP, name))
    raise _invalid(f"Unknown resource type {kind}")


def _topic(broker: Broker, name: str) -> Sequence[DescribedConfig]:
    check_topic_name(name)
    topic = broker.topics.get(name)
    if topic is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return broker.controller.configs.layers.describe_topic(topic.configs)


def _broker(broker: Broker, name: str) -> Sequence[DescribedConfig]:
    layers = broker.controller.configs.layers
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
