"""The request for a new topic, and the checks whether it may be created.

Pure checks, in Kafka's order and in its words. Replication factors above the number of nodes are accepted and lowered
unless the node is strict about them: a single node should run what was written for three.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field

from penstock.cluster.topics import Topic, TopicTable
from penstock.config.config_layers import ConfigLayers
from penstock.config.settings import Settings
from penstock.config.topic_configs import check_together, normalize_all
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.topic_name import INTERNAL_NAMES, check_topic_name, collision_key

DEFAULT = -1
_CLUSTER_METADATA = "__cluster_metadata"
"""Kafka's own log of metadata. There is none here, and a topic of that name would confuse its tools."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTopic:
    """A requested topic; -1 stands for the default. `assignments` names the replicas of each partition."""

    name: str
    partition_count: int = DEFAULT
    replication_factor: int = DEFAULT
    assignments: Mapping[int, Sequence[int]] = field(default_factory=dict)
    configs: Sequence[tuple[str, str | None]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedTopic:
    """A new topic with everything filled in. `replication_factor` is the requested one, not the actual one."""

    name: str
    partition_count: int
    replication_factor: int
    configs: Mapping[str, str]


@dataclass(slots=True, kw_only=True)
class TopicChecks:
    """The state of the node that a new topic is checked against.

    `pending` are the topics of the same request that passed already, by collision key.
    """

    topics: TopicTable
    layers: ConfigLayers
    settings: Settings
    pending: dict[str, CheckedTopic] = field(default_factory=dict)
    pending_partitions: int = 0

    def check(self, new: NewTopic) -> CheckedTopic:
        check_topic_name(new.name)
        if new.name in self.topics:
            raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{new.name}' already exists.")
        if new.name in INTERNAL_NAMES or new.name == _CLUSTER_METADATA:
            message = f"Creation of internal topic {new.name} is prohibited."
            raise KafkaError(ErrorCode.INVALID_REQUEST, message)
        self._check_collision(new.name)
        configs = normalize_all(new.configs)
        check_together(configs, self.layers.effective)
        partition_count, replication_factor = self._check_size(new)
        self.check_room(new.name, partition_count, topics=1)
        checked = CheckedTopic(
            name=new.name,
            partition_count=partition_count,
            replication_factor=replication_factor,
            configs=configs,
        )
        self.pending[collision_key(new.name)] = checked
        self.pending_partitions += partition_count
        return checked

    def check_growth(self, topic: Topic, count: int, assignments: Sequence[Sequence[int]] | None) -> None:
        """Whether a topic may get more partitions."""
        have = topic.partition_count
        if count == have:
            raise KafkaError(ErrorCode.INVALID_PARTITIONS, f"Topic already has {have} partition(s).")
        if count < have:
            raise KafkaError(
                ErrorCode.INVALID_PARTITIONS,
                f"The topic {topic.name} currently has {have} partition(s); {count} would not be an increase.",
            )
        if topic.internal:
            message = f"Resizing of internal topic {topic.name} is prohibited."
            raise KafkaError(ErrorCode.INVALID_REQUEST, message)
        if assignments is not None:
            if len(assignments) != count - have:
                raise KafkaError(
                    ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                    f"Attempted to add {count - have} additional partition(s), but only {len(assignments)} "
                    "assignment(s) were specified.",
                )
            for replicas in assignments:
                check_assignment(replicas, {self.settings.node.id})
        self.check_room(topic.name, count - have, existing=have)

    def check_room(self, name: str, added: int, *, topics: int = 0, existing: int = 0) -> None:
        """Check the limits of the node; POLICY_VIOLATION, as Kafka answers excessive requests."""
        limits = self.settings.limits
        if existing + added > limits.partitions_per_topic_max:
            raise _policy(f"Topic '{name}' would have more than {limits.partitions_per_topic_max} partitions.")
        if len(self.topics) + len(self.pending) + topics > limits.topics_max:
            raise _policy(f"The node has {limits.topics_max} topics already, which is its limit.")
        if self.topics.partition_count + self.pending_partitions + added > limits.partitions_max:
            raise _policy(f"The node would have more than {limits.partitions_max} partitions, its limit.")

    def _check_collision(self, name: str) -> None:
        key = collision_key(name)
        other = self.topics.colliding(key)
        if other is None and key in self.pending:
            other = self.pending[key].name
        if other is not None:
            message = f"Topic '{name}' collides with existing topic: {other}"
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, message)

    def _check_size(self, new: NewTopic) -> tuple[int, int]:
        if new.assignments:
            return self._check_assignments(new)
        factor = new.replication_factor
        if factor < DEFAULT or factor == 0:
            raise KafkaError(
                ErrorCode.INVALID_REPLICATION_FACTOR,
                "Replication factor must be larger than 0, or -1 to use the default value.",
            )
        if new.partition_count < DEFAULT or new.partition_count == 0:
            raise KafkaError(
                ErrorCode.INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value."
            )
        if factor > 1 and self.settings.topics.strict_replication_factor:
            raise KafkaError(
                ErrorCode.INVALID_REPLICATION_FACTOR,
                f"Unable to replicate the partition {factor} time(s): The target replication factor of "
                f"{factor} cannot be reached because only 1 broker(s) are registered.",
            )
        count = new.partition_count
        return self.settings.topics.default_partitions if count == DEFAULT else count, max(factor, 1)

    def _check_assignments(self, new: NewTopic) -> tuple[int, int]:
        for value, what in ((new.replication_factor, "replication factor"), (new.partition_count, "partitions")):
            if value != DEFAULT:
                message = f"A manual partition assignment was specified, but {what} was not set to -1."
                raise KafkaError(ErrorCode.INVALID_REQUEST, message)
        brokers = {self.settings.node.id}
        for replicas in new.assignments.values():
            check_assignment(replicas, brokers)
        count = len(new.assignments)
        if set(new.assignments) != set(range(count)):
            raise KafkaError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                "partitions should be a consecutive 0-based integer sequence",
            )
        return count, 1


def check_assignment(replicas: Sequence[int], brokers: Container[int]) -> None:
    """A manual list of replicas: not empty, each a broker that exists, none twice."""
    problem = None
    if not replicas:
        problem = "an empty replica list"
    seen: set[int] = set()
    for broker in replicas:
        if broker in seen:
            problem = f"the broker {broker} more than once"
        elif broker not in brokers:
            problem = f"broker {broker}, but no such broker is registered"
        seen.add(broker)
        if problem is not None:
            break
    if problem is not None:
        message = f"The manual partition assignment includes {problem}."
        raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)


def _policy(message: str) -> KafkaError:
    return KafkaError(ErrorCode.POLICY_VIOLATION, message)
