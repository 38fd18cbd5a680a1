"""Mirrors: topics that are copies of a parent's. Clients read them; only the pipe writes or changes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.cluster.topics import Topic
from penstock.config.topic_configs import TOPIC_CONFIGS, normalize
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.ids import TopicId

REMOTE = "remote."


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMirror:
    """A topic of the parent, as it is at the parent."""

    name: str
    topic_id: TopicId
    partition_count: int
    configs: Mapping[str, str]

    def known_configs(self) -> dict[str, str]:
        """The configs that have a meaning here: other kinds of parents have more, such as those of tiered storage."""
        known = {}
        for name, value in self.configs.items():
            if name in TOPIC_CONFIGS and not name.startswith(REMOTE):
                try:
                    known[name] = normalize(name, value)
                except KafkaError:
                    continue
        return known


class ReadOnlyMirror(KafkaError):
    """POLICY_VIOLATION for a change of a mirror that the pipe did not make, with a text that names both ends."""


def read_only(name: str, parent: str | None = None) -> ReadOnlyMirror:
    """Return the refusal of a write to a mirror; `parent` is the URL that it is copied from, if there is one now."""
    where = f"the topic at the parent {parent}" if parent else "the parent's topic"
    text = f"{name} is a mirror of {where} and cannot be changed here; write to the root of the hierarchy"
    return ReadOnlyMirror(ErrorCode.POLICY_VIOLATION, text)


def refuse_mirror(topic: Topic | None, parent: str | None) -> None:
    if topic is not None and topic.mirror:
        raise read_only(topic.name, parent)
