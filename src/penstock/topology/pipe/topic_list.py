"""The parent's answer to GET /pipe/topics: JSON from another machine, checked in full before anything is made of it.

The size is bounded by bytes and by values, because five bytes of JSON can become an object of a hundred. Decoding is
for a thread: the hook makes the C decoder come back to the interpreter at every object, so that other threads, the
event loop among them, get their turns.
"""

from __future__ import annotations

import json
from typing import Annotated, Any
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from penstock.model.limits import PARTITIONS_PER_TOPIC_MAX
from penstock.model.topic_name import is_topic_name
from penstock.topology.pipe.interface import ParentTopic, ParentTopics

TOPICS_BYTES_MAX = 16 << 20
"""A list of 200,000 partitions has 10 MiB."""
SEPARATORS_MAX = 2_000_000
"""Commas: all values but the first of each list and object have one. 200,000 partitions have 600,000."""
_INT64_MAX = (1 << 63) - 1


class BadTopicList(ValueError):
    """The answer is not a list of topics; the message says why."""


def _topic_name(name: str) -> str:
    if not is_topic_name(name):
        raise ValueError("not a valid name of a topic")
    return name


class _Answer(BaseModel):
    """Fields that are not known are ignored: the parent may be of a later version."""

    model_config = ConfigDict(frozen=True, strict=True)


class _Partition(_Answer):
    """A partition without `logEnd` has an error at the parent."""

    end: Annotated[int, Field(alias="logEnd", ge=-1, le=_INT64_MAX)] = -1


class _Topic(_Answer):
    name: Annotated[str, AfterValidator(_topic_name)]
    id: Annotated[UUID, Field(strict=False)]
    partitions: Annotated[list[_Partition], Field(min_length=1, max_length=PARTITIONS_PER_TOPIC_MAX)]
    configs: dict[str, str]


class _TopicList(_Answer):
    version: Annotated[int, Field(ge=-_INT64_MAX, le=_INT64_MAX)]
    topics: list[_Topic]


def decode_topic_list(body: bytes) -> ParentTopics:
    """Decode and check an answer. BadTopicList for anything else, whatever it is."""
    if body.count(b",") > SEPARATORS_MAX:
        raise BadTopicList(f"more than {SEPARATORS_MAX} values")
    try:
        told = _TopicList.model_validate(json.loads(body, object_hook=_as_it_is))
    except RecursionError:
        raise BadTopicList("nested too deeply") from None
    except ValueError as error:  # that of JSON, of UTF-8 and of pydantic
        raise BadTopicList(_first_line(error)) from None
    topics = [
        ParentTopic(
            name=each.name,
            topic_id=each.id,
            partition_count=len(each.partitions),
            configs=each.configs,
            ends=[partition.end for partition in each.partitions],
        )
        for each in told.topics
    ]
    return ParentTopics(version=told.version, topics=topics)


def _as_it_is(document: dict[str, Any]) -> dict[str, Any]:
    return document


def _first_line(error: ValueError) -> str:
    errors = getattr(error, "errors", None)
    if errors is None:
        return str(error)
    first = errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
