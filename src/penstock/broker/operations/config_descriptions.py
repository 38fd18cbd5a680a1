"""Configs of a topic, a broker, a group or a client-metrics subscription, with where each value comes from."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.broker.operations.config_changes import broker_id_of, check_configs
from penstock.cluster.controller.config_changes import ConfigResourceType
from penstock.cluster.controller.configs_frontend import CLIENT_METRICS, GROUP, ConfigsFrontend
from penstock.cluster.topics import TopicTable
from penstock.config.broker_configs import describe_broker, describe_default_broker
from penstock.config.client_metrics_configs import describe_client_metrics
from penstock.config.config_layers import DescribedConfig
from penstock.config.group_configs import describe_group
from penstock.config.settings import Settings
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.topic_name import check_topic_name
from penstock.security.access import Access
from penstock.security.resources import Operation
from penstock.security.session import Session


class ConfigDescriptions:
    """Answers DescribeConfigs and the admin API; KafkaError for an unknown resource or a missing right."""

    def __init__(self, frontend: ConfigsFrontend, topics: TopicTable, settings: Settings, access: Access) -> None:
        self._frontend = frontend
        self._topics = topics
        self._settings = settings
        self._access = access

    def check(self, session: Session, kind: ConfigResourceType, name: str) -> None:
        """KafkaError unless the session may see the configs."""
        check_configs(self._access, session, Operation.DESCRIBE_CONFIGS, kind, name)

    def of_resource(self, session: Session, kind: int, name: str) -> Sequence[DescribedConfig]:
        which = ConfigResourceType(kind)
        self.check(session, which, name)
        node_id = self._settings.node.id
        match which:
            case ConfigResourceType.TOPIC:
                return self._of_topic(name)
            case ConfigResourceType.BROKER:
                return self._of_broker(name)
            case ConfigResourceType.BROKER_LOGGER:
                if not name:
                    raise _invalid("Broker id must not be empty")
                self._check_broker_id(name, f"expected {node_id}, but received {name}")
                return ()
            case ConfigResourceType.CLIENT_METRICS:
                if not name:
                    raise _invalid("Client metrics subscription name must not be empty")
                return describe_client_metrics(self._frontend.explicit(CLIENT_METRICS, name))
            case ConfigResourceType.GROUP:
                if not name:
                    raise _invalid("Group name must not be empty")
                return describe_group(self._frontend.explicit(GROUP, name))
        raise _invalid(f"Unknown resource type {kind}")

    def _of_topic(self, name: str) -> Sequence[DescribedConfig]:
        check_topic_name(name)
        topic = self._topics.get(name)
        if topic is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return self._frontend.layers.describe_topic(topic.configs)

    def _of_broker(self, name: str) -> Sequence[DescribedConfig]:
        layers = self._frontend.layers
        if not name:
            return describe_default_broker(layers)
        self._check_broker_id(name, f"expected {self._settings.node.id} or empty string, but received {name}")
        return describe_broker(self._settings, layers)

    def _check_broker_id(self, name: str, unexpected: str) -> None:
        try:
            broker_id = broker_id_of(name)
        except ValueError:
            raise _invalid(f"Broker id must be an integer, but it is: {name}") from None
        if broker_id != self._settings.node.id:
            raise _invalid(f"Unexpected broker id, {unexpected}")


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, message)
