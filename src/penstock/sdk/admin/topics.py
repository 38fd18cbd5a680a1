"""Topics, their configs and records, over librdkafka."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from confluent_kafka import KafkaException
from confluent_kafka import TopicPartition as LibraryPlace
from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from penstock.model.topic_partition import TopicPartition
from penstock.sdk.admin.link import Link
from penstock.sdk.admin.values import ConfigValue, PartitionInfo, TopicInfo
from penstock.sdk.arguments import PARTITIONS_MAX, REPLICAS_MAX, checked_name, checked_number
from penstock.sdk.errors import NotFound, SettingsError
from penstock.sdk.librdkafka.errors import cause, translate, translated
from penstock.sdk.librdkafka.policy import policy_text

OFFSET_END = -1
BY_BROKER = -1


def create(
    link: Link, name: str, partitions: int | None, replication: int | None, config: Mapping[str, object]
) -> None:
    checked_name(name, "topic")
    count = BY_BROKER if partitions is None else checked_number(partitions, "partitions", 1, PARTITIONS_MAX)
    replicas = BY_BROKER if replication is None else checked_number(replication, "replication", 1, REPLICAS_MAX)
    new = NewTopic(name, count, replicas, config=_texts(config))
    link.answer(link.library.create_topics([new], request_timeout=link.timeout_s), f"topic {name}")


def delete(link: Link, name: str) -> None:
    checked_name(name, "topic")
    with _explained(link, f"topic {name}", name):
        link.library.delete_topics([name], request_timeout=link.timeout_s)[name].result()


def add_partitions(link: Link, name: str, total: int) -> None:
    wanted = [NewPartitions(checked_name(name, "topic"), checked_number(total, "total", 1, PARTITIONS_MAX))]
    link.answer(link.library.create_partitions(wanted, request_timeout=link.timeout_s), f"topic {name}")


def names(link: Link, *, internal: bool) -> list[str]:
    found = sorted(link.metadata().topics)
    return [name for name in found if internal or not name.startswith("__")]


def describe(link: Link, name: str) -> TopicInfo:
    topic = known_topic(link, name)
    places = [TopicPartition(name, index) for index in sorted(topic.partitions)]
    starts, ends = offsets(link, places, OffsetSpec.earliest()), offsets(link, places, OffsetSpec.latest())
    return TopicInfo(
        name=name,
        is_internal=name.startswith("__"),
        partitions=tuple(
            PartitionInfo(
                partition=place.partition,
                leader=topic.partitions[place.partition].leader,
                replicas=tuple(topic.partitions[place.partition].replicas),
                in_sync=tuple(topic.partitions[place.partition].isrs),
                start=starts[place],
                end=ends[place],
            )
            for place in places
        ),
    )


def known_topic(link: Link, name: str) -> Any:
    topics = link.metadata().topics
    if name not in topics:
        hint = "`Admin.list_topics` shows all topics"
        raise NotFound(f"topic {name} does not exist", hint=hint, code="UNKNOWN_TOPIC_OR_PART")
    return topics[name]


def check_partitions(topic: str, known: Mapping[int, Any], wanted: Iterable[int]) -> None:
    for index in wanted:
        if index not in known:
            raise NotFound(f"topic {topic} has no partition {index}", hint=f"it has 0 to {len(known) - 1}")


def offsets(link: Link, places: Sequence[TopicPartition], spec: Any) -> dict[TopicPartition, int]:
    """Offset of a moment, the start or the end in each partition. -1 for a moment after the last record."""
    if not places:
        return {}
    wanted = {LibraryPlace(*place): spec for place in places}
    with translated("offsets"):
        answers = link.library.list_offsets(wanted, request_timeout=link.timeout_s)
        return {TopicPartition(each.topic, each.partition): future.result().offset for each, future in answers.items()}


# --- configs ---------------------------------------------------------------------------------------------------------


def config(link: Link, name: str) -> dict[str, ConfigValue]:
    return _config(link, ResourceType.TOPIC, checked_name(name, "topic"))


def broker_config(link: Link, broker_id: int) -> dict[str, ConfigValue]:
    known = sorted(link.metadata().brokers)
    if broker_id not in known:
        hint = f"there are {', '.join(map(str, known))}"
        raise NotFound(f"no broker {broker_id!r}", hint=hint, code="BROKER_ID_NOT_REGISTERED")
    return _config(link, ResourceType.BROKER, str(broker_id))


def _config(link: Link, kind: ResourceType, name: str) -> dict[str, ConfigValue]:
    asked = [ConfigResource(kind, name)]
    found = link.answer(link.library.describe_configs(asked, request_timeout=link.timeout_s), f"config of {name}")
    return {each.name: _config_value(each) for each in sorted(found.values(), key=lambda each: each.name)}


def _config_value(entry: Any) -> ConfigValue:
    from confluent_kafka.admin import ConfigSource

    return ConfigValue(
        name=entry.name,
        value=None if entry.is_sensitive else entry.value,
        source=ConfigSource(entry.source).name.lower(),
        is_default=entry.is_default,
        is_read_only=entry.is_read_only,
        is_sensitive=entry.is_sensitive,
    )


def alter_config(link: Link, name: str, values: Mapping[str, object], remove: Iterable[str]) -> None:
    checked_name(name, "topic")
    changes = [
        ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET) for key, value in _texts(values).items()
    ]
    changes += [
        ConfigEntry(checked_name(key, "remove"), None, incremental_operation=AlterConfigOpType.DELETE) for key in remove
    ]
    if not changes:
        raise SettingsError("nothing to change", hint="give values={…} or remove=[…]")
    asked = [ConfigResource(ResourceType.TOPIC, name, incremental_configs=changes)]
    answers = link.library.incremental_alter_configs(asked, request_timeout=link.timeout_s)
    link.answer(answers, f"config of {name}")


def _texts(config: Mapping[str, object]) -> dict[str, str]:
    given: Any = config
    if not isinstance(given, Mapping):
        raise SettingsError(f"config={given!r}", hint='give a dict such as {"retention.ms": 86_400_000}')
    return {checked_name(key, "config"): _text(value) for key, value in given.items()}


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


# --- records ---------------------------------------------------------------------------------------------------------


def delete_records(link: Link, topic: str, before: Mapping[int, int | Literal["end"]]) -> dict[int, int]:
    """Delete records; return the new start of each partition."""
    given: Mapping[int, object] = before
    for partition, offset in given.items():
        if offset != "end" and not (isinstance(offset, int) and offset >= 0):
            hint = 'give the offset of the first record to keep, or "end"'
            raise SettingsError(f"records of {topic}-{partition} before {offset!r}", hint=hint)
    check_partitions(topic, known_topic(link, topic).partitions, before)
    wanted = [LibraryPlace(topic, index, OFFSET_END if at == "end" else at) for index, at in before.items()]
    with _explained(link, f"records of {topic}", topic):
        answers = link.library.delete_records(wanted, request_timeout=link.timeout_s)
        return {place.partition: future.result().low_watermark for place, future in answers.items()}


@contextlib.contextmanager
def _explained(link: Link, what: str, topic: str) -> Iterator[None]:
    """Translate errors of a deletion, with the reason that the answer itself does not bring along."""
    try:
        yield
    except KafkaException as error:
        reason = cause(error)
        raise translate(reason, what, policy_text(link.library, reason, topic)) from error
