"""Where the two alter-configs APIs meet: which resources have configs that can be changed, and how they are found.

Both answer per resource, and both leave it to the controller to make the change durable. What they do to the configs
of a resource is the `Update` they pass.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from penstock.cluster.controller.config_changes import ConfigChange, KeyLookup, NotAList, ResourceType, changed_configs
from penstock.cluster.controller.configs_frontend import BROKER, CLIENT_METRICS, GROUP
from penstock.config.broker_configs import broker_config
from penstock.config.client_metrics_configs import client_metrics_config
from penstock.config.config_layers import MIN_INSYNC
from penstock.config.resource_configs import group_config
from penstock.config.topic_configs import TOPIC_NAMES, topic_config
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.limits import CLIENT_METRICS_SUBSCRIPTIONS_MAX
from penstock.protocol.kafka.messages import Entity

if TYPE_CHECKING:
    from penstock.broker.broker import Broker
    from penstock.broker.request import AnyRequest

Update = Callable[[Mapping[str, str], KeyLookup, Mapping[str, str]], dict[str, str]]
"""(explicit configs now, which configs exist, values in force where nothing is set) -> explicit configs then."""


async def alter_incrementally(
    broker: Broker, resource: tuple[int, str], changes: Sequence[ConfigChange], *, validate_only: bool
) -> None:
    """Set, delete, append to or subtract from single configs of one resource; all of it or nothing."""

    def updated(current: Mapping[str, str], lookup: KeyLookup, defaults: Mapping[str, str]) -> dict[str, str]:
        return changed_configs(current, changes, lookup=lookup, defaults=defaults)

    names = {change.name for change in changes}
    await alter(broker, resource, names, updated, validate_only=validate_only)


async def answer_each(request: AnyRequest, change: Callable[[Entity], Awaitable[None]]) -> list[Entity]:
    """One answer per resource of the request."""
    resources = request.body.resources
    counts = Counter((resource.resource_type, resource.resource_name) for resource in resources)
    answers = []
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
    return answers


async def alter(
    broker: Broker, resource: tuple[int, str], changed: Collection[str], update: Update, *, validate_only: bool
) -> None:
    """Change the configs of one resource, by its type and name; KafkaError if that is not possible.

    `changed` are the names of the configs that somebody wants to change.
    """
    kind, name = ResourceType(resource[0]), resource[1]
    controller, layers = broker.controller, broker.controller.configs.layers
    if kind is ResourceType.TOPIC:
        _not_default(name, "topic")
        change = functools.partial(_apply, update, topic_config, layers.effective)
        await controller.configs.alter_topic(name, change, validate_only=validate_only)
    elif kind is ResourceType.BROKER:
        _check_broker(broker, name)
        defaults = {name: layers.effective[topic] for name, topic in TOPIC_NAMES.items()}
        change = functools.partial(_apply_to_broker, update, defaults, name, MIN_INSYNC in changed)
        await controller.configs.alter(BROKER, name, change, validate_only=validate_only)
    elif kind is ResourceType.GROUP:
        _not_default(name, "group")
        change = functools.partial(_apply, update, group_config, {})
        await controller.configs.alter(GROUP, name, change, validate_only=validate_only)
    elif kind is ResourceType.CLIENT_METRICS:
        _check_subscription(broker, name)
        change = functools.partial(_apply, update, client_metrics_config, {})
        await controller.configs.alter(CLIENT_METRICS, name, change, validate_only=validate_only)
    elif kind is ResourceType.BROKER_LOGGER:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Log levels are set when the node starts (--log-level).")
    else:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown resource type {resource[0]}")


def _apply(
    update: Update, lookup: KeyLookup, defaults: Mapping[str, str], current: Mapping[str, str]
) -> dict[str, str]:
    return update(current, lookup, defaults)


def _apply_to_broker(
    update: Update, defaults: Mapping[str, str], name: str, changes_minimum: bool, current: Mapping[str, str]
) -> dict[str, str]:
    """A bad value of a broker config is INVALID_REQUEST in Kafka, unlike that of a topic config.

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


def _check_subscription(broker: Broker, name: str) -> None:
    if not name:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Subscription name can't be empty")
    known = broker.controller.configs.configured(CLIENT_METRICS)
    if name not in known and len(known) >= CLIENT_METRICS_SUBSCRIPTIONS_MAX:
        message = f"There are {CLIENT_METRICS_SUBSCRIPTIONS_MAX} client-metrics subscriptions; delete some first"
        raise KafkaError(ErrorCode.POLICY_VIOLATION, message)


def broker_id_of(name: str) -> int:
    """The name of a broker resource as a number; ValueError for what is none to Kafka, such as one with blanks."""
    if not name.isascii() or not name.lstrip("+-").isdigit():
        raise ValueError(name)
    return int(name)


def _check_broker(broker: Broker, name: str) -> None:
    if not name:
        return
    try:
        broker_id = broker_id_of(name)
    except ValueError:
        message = f"Node id must be an integer, but it is: {name}"
        raise KafkaError(ErrorCode.INVALID_REQUEST, message) from None
    if broker_id != broker.node_id:
        message = f"Unexpected broker id, expected {broker.node_id}, but received {name}"
        raise KafkaError(ErrorCode.INVALID_REQUEST, message)
