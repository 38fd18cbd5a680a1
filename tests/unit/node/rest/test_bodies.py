"""A body full of mistakes has few findings, because each takes the event loop's time; a usual one has all of them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from penstock.node.rest.config_bodies import ConfigChangesBody
from penstock.node.rest.group_bodies import TOPICS_MAX, ResetBody
from penstock.node.rest.message_bodies import HEADERS_MAX, NewMessageBody
from penstock.node.rest.problems import BODY_BYTES_MAX
from penstock.node.rest.topic_bodies import NewTopicBody

FINDINGS_MAX = 1_500  # which take three milliseconds


def filled(before: str, members: Iterable[str], after: str) -> str:
    """As large as a body may be."""
    left = BODY_BYTES_MAX - len(before) - len(after)
    taken = []
    for member in members:
        left -= len(member) + 1
        if left < 0:
            break
        taken.append(member)
    return before + ",".join(taken) + after


def named(value: str) -> Iterable[str]:
    return (f'"{number:x}":{value}' for number in itertools.count())


def unknown(count: int) -> str:
    """An object with so many fields that there are not."""
    return "{" + ",".join(itertools.islice(named("0"), count)) + "}"


HOSTILE: dict[str, tuple[type[BaseModel], str]] = {
    "unknown fields": (NewTopicBody, filled('{"name":"x",', named("0"), "}")),
    "configs": (NewTopicBody, filled('{"name":"x","configs":{', named("[]"), "}}")),
    "changes": (ConfigChangesBody, filled('{"set":{', named("[]"), "}}")),
    "names": (ConfigChangesBody, filled('{"delete":[', itertools.repeat("0"), "]}")),
    "partitions": (ResetBody, filled('{"to":"latest","topics":[{"partitions":[', itertools.repeat('""'), "]}]}")),
    "topics": (ResetBody, filled('{"to":"latest","topics":[', [unknown(12)] * TOPICS_MAX, "]}")),
    "headers": (NewMessageBody, filled('{"headers":[', [unknown(12)] * HEADERS_MAX, "]}")),
    "long headers": (NewMessageBody, filled('{"headers":[', [unknown(300)] * HEADERS_MAX, "]}")),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_body_full_of_mistakes_has_few_findings(name: str) -> None:
    model, text = HOSTILE[name]
    assert 1 <= findings(model, json.loads(text)) <= FINDINGS_MAX


def findings(model: type[BaseModel], body: Any) -> int:
    with pytest.raises(ValidationError) as raised:
        model.model_validate(body)
    return raised.value.error_count()


def test_usual_mistakes_are_found_one_by_one() -> None:
    with pytest.raises(ValidationError) as raised:
        NewTopicBody.model_validate({"nam": "x", "partitons": 3, "configs": {"a": [], "b": None, "c": 1}})
    places = {(finding["type"], *finding["loc"]) for finding in raised.value.errors()}
    assert places == {
        ("missing", "name"),
        ("extra_forbidden", "nam"),
        ("extra_forbidden", "partitons"),
        ("value_error", "configs", "a"),
        ("value_error", "configs", "b"),
    }


@pytest.mark.parametrize("value", ["text", "", 7, -1.5, True, -(2**63), 2**64 - 1])
def test_configs_keep_their_values(value: object) -> None:
    kept = NewTopicBody.model_validate({"name": "x", "configs": {"a": value}}).configs["a"]
    assert (type(kept), kept) == (type(value), value)


def test_numbers_whose_text_takes_long_are_refused() -> None:
    assert findings(NewTopicBody, {"name": "x", "configs": {"a": 2**64, "b": 10**4000, "c": 1}}) == 2
