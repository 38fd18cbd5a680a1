"""Configs of a topic, of a broker, and of all brokers.

GET, PATCH /topics/{topic}/configs
GET, PATCH /brokers/{broker}/configs
GET, PATCH /cluster/configs            what holds for all brokers
"""

from __future__ import annotations

from fastapi import APIRouter

from penstock.broker.broker import Broker
from penstock.broker.operations.config_targets import alter_incrementally
from penstock.broker.operations.described_configs import described_configs
from penstock.cluster.controller.config_changes import ResourceType
from penstock.model.errors import ErrorCode, KafkaError
from penstock.node.rest.cluster import check_broker
from penstock.node.rest.config_bodies import ConfigChangesBody, ConfigsBody
from penstock.node.rest.documented import FORBIDDEN, NOT_FOUND
from penstock.node.rest.parameters import BrokerId, TopicName
from penstock.node.rest.topics import existing_topic

_READ_ONLY = "what is read_only is set in the settings of the node, which it reads when it starts"


class ConfigRoutes:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self.router = router = APIRouter(tags=["configs"])
        router.get("/topics/{topic}/configs", responses=NOT_FOUND)(self.topic_configs)
        router.patch("/topics/{topic}/configs", responses=NOT_FOUND | FORBIDDEN)(self.change_topic_configs)
        router.get("/brokers/{broker}/configs", responses=NOT_FOUND)(self.broker_configs)
        router.patch("/brokers/{broker}/configs", responses=NOT_FOUND)(self.change_broker_configs)
        router.get("/cluster/configs")(self.cluster_configs)
        router.patch("/cluster/configs")(self.change_cluster_configs)

    async def topic_configs(self, topic: TopicName) -> ConfigsBody:
        """Every config of a topic, with its value and the source of the value."""
        existing_topic(self._broker, topic)
        return self._described(ResourceType.TOPIC, topic)

    async def change_topic_configs(self, topic: TopicName, body: ConfigChangesBody) -> ConfigsBody:
        """Change configs of a topic. The change is durable and in effect when this is answered."""
        existing_topic(self._broker, topic)
        return await self._changed(ResourceType.TOPIC, topic, body)

    async def broker_configs(self, broker: BrokerId) -> ConfigsBody:
        """Every config of a broker; read-only ones come from its settings."""
        check_broker(self._broker, broker)
        return self._described(ResourceType.BROKER, str(broker))

    async def change_broker_configs(self, broker: BrokerId, body: ConfigChangesBody) -> ConfigsBody:
        """Change the defaults of topic configs of one broker. Its other configs are read-only settings."""
        check_broker(self._broker, broker)
        return await self._changed(ResourceType.BROKER, str(broker), body)

    async def cluster_configs(self) -> ConfigsBody:
        """Configs that were set for all brokers."""
        return self._described(ResourceType.BROKER, "")

    async def change_cluster_configs(self, body: ConfigChangesBody) -> ConfigsBody:
        """Change the defaults of topic configs of all brokers. Configs of a single broker take precedence."""
        return await self._changed(ResourceType.BROKER, "", body)

    def _described(self, kind: ResourceType, name: str) -> ConfigsBody:
        return ConfigsBody.of(described_configs(self._broker, kind, name))

    async def _changed(self, kind: ResourceType, name: str, body: ConfigChangesBody) -> ConfigsBody:
        try:
            await alter_incrementally(self._broker, (kind, name), body.changes(), validate_only=body.validate_only)
        except KafkaError as error:
            if kind is ResourceType.BROKER and error.code is ErrorCode.INVALID_REQUEST and error.message:
                raise KafkaError(error.code, f"{error.message}; {_READ_ONLY}") from error
            raise
        return self._described(kind, name)
