"""Configs of a topic, of a broker, and of all brokers.

GET, PATCH /topics/{topic}/configs
GET, PATCH /brokers/{broker}/configs
GET, PATCH /cluster/configs            defaults of all brokers
"""

from __future__ import annotations

from fastapi import APIRouter

from penstock.broker.operations.config_changes import ConfigChanges
from penstock.broker.operations.config_descriptions import ConfigDescriptions
from penstock.broker.operations.topics import TopicOperations
from penstock.cluster.controller.config_changes import ConfigResourceType
from penstock.model.errors import ErrorCode, KafkaError
from penstock.node.rest.cluster import check_broker
from penstock.node.rest.config_bodies import ConfigChangesBody, ConfigsBody
from penstock.node.rest.documented import FORBIDDEN, NOT_FOUND
from penstock.node.rest.parameters import Asking, BrokerId, TopicName
from penstock.node.rest.topics import existing_topic
from penstock.security.resources import Operation
from penstock.security.session import Session

_READ_ONLY = "a read_only config is set in the settings of the node, which are read at its start"


class ConfigRoutes:
    def __init__(
        self, topics: TopicOperations, descriptions: ConfigDescriptions, changes: ConfigChanges, node_id: int
    ) -> None:
        self._topics = topics
        self._descriptions = descriptions
        self._changes = changes
        self._node_id = node_id
        self.router = router = APIRouter(tags=["configs"])
        router.get("/topics/{topic}/configs", responses=NOT_FOUND)(self.topic_configs)
        router.patch("/topics/{topic}/configs", responses=NOT_FOUND | FORBIDDEN)(self.change_topic_configs)
        router.get("/brokers/{broker}/configs", responses=NOT_FOUND)(self.broker_configs)
        router.patch("/brokers/{broker}/configs", responses=NOT_FOUND)(self.change_broker_configs)
        router.get("/cluster/configs")(self.cluster_configs)
        router.patch("/cluster/configs")(self.change_cluster_configs)

    async def topic_configs(self, session: Asking, topic: TopicName) -> ConfigsBody:
        """Every config of a topic, with its value and the source of the value."""
        existing_topic(self._topics, session, topic, Operation.DESCRIBE_CONFIGS)
        return self._described(session, ConfigResourceType.TOPIC, topic)

    async def change_topic_configs(self, session: Asking, topic: TopicName, body: ConfigChangesBody) -> ConfigsBody:
        """Change configs of a topic. The change is durable and in effect when this is answered."""
        existing_topic(self._topics, session, topic, Operation.ALTER_CONFIGS)
        return await self._changed(session, ConfigResourceType.TOPIC, topic, body)

    async def broker_configs(self, session: Asking, broker: BrokerId) -> ConfigsBody:
        """Every config of a broker; read-only ones come from its settings."""
        check_broker(broker, self._node_id)
        return self._described(session, ConfigResourceType.BROKER, str(broker))

    async def change_broker_configs(self, session: Asking, broker: BrokerId, body: ConfigChangesBody) -> ConfigsBody:
        """Change the defaults of topic configs of one broker. Its other configs are read-only settings."""
        check_broker(broker, self._node_id)
        return await self._changed(session, ConfigResourceType.BROKER, str(broker), body)

    async def cluster_configs(self, session: Asking) -> ConfigsBody:
        """Configs that were set for all brokers."""
        return self._described(session, ConfigResourceType.BROKER, "")

    async def change_cluster_configs(self, session: Asking, body: ConfigChangesBody) -> ConfigsBody:
        """Change the defaults of topic configs of all brokers. Configs of a single broker take precedence."""
        return await self._changed(session, ConfigResourceType.BROKER, "", body)

    def _described(self, session: Session, kind: ConfigResourceType, name: str) -> ConfigsBody:
        return ConfigsBody.of(self._descriptions.of_resource(session, kind, name))

    async def _changed(
        self, session: Session, kind: ConfigResourceType, name: str, body: ConfigChangesBody
    ) -> ConfigsBody:
        """Change configs and describe them: without the right to see the answer nothing is changed."""
        self._descriptions.check(session, kind, name)
        try:
            await self._changes.alter_incrementally(
                session, (kind, name), body.changes(), validate_only=body.validate_only
            )
        except KafkaError as error:
            if kind is ConfigResourceType.BROKER and error.code is ErrorCode.INVALID_REQUEST and error.message:
                raise KafkaError(error.code, f"{error.message}; {_READ_ONLY}") from error
            raise
        return self._described(session, kind, name)
