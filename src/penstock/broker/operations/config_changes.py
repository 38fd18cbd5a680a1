"""Changes of configs: which resources have configs that can be changed, by whom, and how they are found.

The two alter-configs APIs and the admin API meet here. All of them leave it to the controller to make a change durable;
what they do to the configs of a resource is the `Update` that they pass.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence

from penstock.cluster.controller.config_changes import (
    ConfigChange,
    ConfigResourceType,
    KeyLookup,
    NotAList,
    changed_configs,
)
from penstock.cluster.controller.configs_frontend import BROKER, CLIENT_METRICS, GROUP, ConfigsFrontend
from penstock.config.broker_configs import broker_config
from penstock.config.client_metrics_configs import client_metrics_config
from penstock.config.config_layers import MIN_INSYNC
from penstock.config.group_configs import group_config
from penstock.config.topic_configs import TOPIC_NAMES, topic_config
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.limits import CLIENT_METRICS_SUBSCRIPTIONS_MAX, CONFIGURED_GROUPS_MAX
from penstock.security.access import Access
from penstock.security.resources import Operation
from penstock.security.session import Session

Update = Callable[[Mapping[str, str], KeyLookup, Mapping[str, str]], dict[str, str]]
"""(explicit configs now, which configs exist, values in force where nothing is set) -> explicit configs then."""


class ConfigChanges:
    """Changes the configs of one resource at a time; KafkaError if that is not possible or not allowed."""

    def __init__(self, frontend: ConfigsFrontend, node_id: int, access: Access) -> None:
        self._frontend = frontend
        self._node_id = node_id
        self._access = access

    async def alter_incrementally(
        self, session: Session, resource: tuple[int, str], changes: Sequence[ConfigChange], *, validate_only: bool
    ) -> None:
        """Set, delete, append to or subtract from single configs of one resource; all of it or nothing."""

        def updated(current: Mapping[str, str], lookup: KeyLookup, defaults: Mapping[str, str]) -> dict[str, str]:
            return changed_configs(current, changes, lookup=lookup, defaults=defaults)

        names = {change.name for change in changes}
        await self.alter(session, resource, names, updated, validate_only=validate_only)

    async def alter(
        self,
        session: Session,
        resource: tuple[int, str],
        changed: Collection[str],
        update: Update,
        *,
        validate_only: bool,
    ) -> None:
        """Change the configs of one resource, by its type and name.

        `changed` are the names of the configs that the client wants to change.
        """
        kind, name = ConfigResourceType(resource[0]), resource[1]
        check_configs(self._access, session, Operation.ALTER_CONFIGS, kind, name)
        configs, layers = self._frontend, self._frontend.layers
        if kind is ConfigResourceType.TOPIC:
            _not_default(name, "topic")
            change = functools.partial(_apply, update, topic_config, layers.effective)
            await configs.alter_topic(name, change, validate_only=validate_only)
        elif kind is ConfigResourceType.BROKER:
            self._check_broker(name)
            defaults = {name: layers.effective[topic] for name, topic in TOPIC_NAMES.items()}
            change = functools.partial(_apply_to_broker, update, defaults, name, MIN_INSYNC in changed)
            await configs.alter(BROKER, name, change, validate_only=validate_only)
        elif kind is ConfigResourceType.GROUP:
            _not_default(name, "group")
            self._check_group(name)
            change = functools.partial(_apply, update, group_config, {})
            await configs.alter(GROUP, name, change, validate_only=validate_only)
        elif kind is ConfigResourceType.CLIENT_METRICS:
            self._check_subscription(name)
            change = functools.partial(_apply, update, client_metrics_config, {})
            await configs.alter(CLIENT_METRICS, name, change, validate_only=validate_only)
        elif kind is ConfigResourceType.BROKER_LOGGER:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Log levels are set when the node starts (--log-level).")
        else:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown resource type {resource[0]}")

    def _check_subscription(self, name: str) -> None:
        if not name:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Subscription name can't be empty")
        known = self._frontend.configured(CLIENT_METRICS)
        if name not in known and len(known) >= CLIENT_METRICS_SUBSCRIPTIONS_MAX:
            message = f"There are {CLIENT_METRICS_SUBSCRIPTIONS_MAX} client-metrics subscriptions; delete some first"
            raise KafkaError(ErrorCode.POLICY_VIOLATION, message)

    def _check_group(self, name: str) -> None:
        known = self._frontend.configured_count(GROUP)
        if known >= CONFIGURED_GROUPS_MAX and not self._frontend.explicit(GROUP, name):
            message = f"There are {CONFIGURED_GROUPS_MAX} groups with configs; delete the configs of some first"
            raise KafkaError(ErrorCode.POLICY_VIOLATION, message)

    def _check_broker(self, name: str) -> None:
        if not name:
            return
        try:
            broker_id = broker_id_of(name)
        except ValueError:
            message = f"Node id must be an integer, but it is: {name}"
            raise KafkaError(ErrorCode.INVALID_REQUEST, message) from None
        if broker_id != self._node_id:
            message = f"Unexpected broker id, expected {self._node_id}, but received {name}"
            raise KafkaError(ErrorCode.INVALID_REQUEST, message)


def check_configs(access: Access, session: Session, operation: Operation, kind: ConfigResourceType, name: str) -> None:
    """KafkaError unless the session may do this to the configs; those of brokers and metrics belong to the cluster."""
    if kind is ConfigResourceType.TOPIC:
        access.check_topic(session, operation, name)
    elif kind is ConfigResourceType.GROUP:
        access.check_group(session, operation, name)
    else:
        access.check_cluster(session, operation)


def _apply(
    update: Update, lookup: KeyLookup, defaults: Mapping[str, str], current: Mapping[str, str]
) -> dict[str, str]:
    return update(current, lookup, defaults)


def _apply_to_broker(
    update: Update, defaults: Mapping[str, str], name: str, changes_minimum: bool, current: Mapping[str, str]
) -> dict[str, str]:
    """Apply changes of broker configs. A bad value is INVALID_REQUEST in Kafka, unlike that of a topic config.

    `min.insync.replicas` is the business of all brokers together (KIP-966): for them it is always set, for one never.
    """
    try:
        configs = update(current, broker_config, defaults)
    except NotAList:
        raise
    except KafkaError as error:
        raise KafkaError(ErrorCode.INVALID_REQUEST, error.message or "Unknown config operation") from error
    if name and changes_minimum:
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"Broker-level {MIN_INSYNC} cannot be altered.")
    if not name and MIN_INSYNC not in configs:
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"Cluster-level {MIN_INSYNC} cannot be removed.")
    return configs


def _not_default(name: str, what: str) -> None:
    if not name:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Default {what} resources are not allowed.")


def broker_id_of(name: str) -> int:
    """The name of a broker resource as a number; ValueError for what is none to Kafka, such as one with blanks."""
    if not name.isascii() or not name.lstrip("+-").isdigit():
        raise ValueError(name)
    return int(name)
