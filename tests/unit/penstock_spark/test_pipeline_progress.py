"""Spark's reports of a pipeline's batches: lag and groups of flows that read topics, nothing for others."""

from __future__ import annotations

import json
from typing import Any

import pytest

from penstock.model.topic_partition import TopicPartition
from penstock_spark.pipelines.progress import batch_event
from penstock_spark.reading.planning.progress import Progress

PLACE = TopicPartition("prices", 0)
END = Progress({PLACE: 5}, "readers", ids={"prices": "an-id"}).to_json()
LATEST = Progress({PLACE: 9}, "").to_json()


def event(*sources: dict[str, Any]) -> dict[str, Any]:
    return batch_event({"id": "query", "name": "flow", "batchId": 3, "sources": list(sources)})


@pytest.mark.parametrize("written", [lambda offsets: offsets, json.dumps], ids=["as JSON", "as text"])
def test_lag_and_group_of_a_flow_that_reads_topics(written: Any) -> None:
    told = event({"endOffset": written(END), "latestOffset": written(LATEST), "numInputRows": 2})
    assert (told["lag"], told["groups"], told["rows"]) == (4, ["readers"], 2)


def test_what_was_not_asked_yet_is_read() -> None:
    assert event({"endOffset": END, "latestOffset": None})["lag"] == 0


def test_sparks_own_source_has_a_lag_and_no_group() -> None:
    told = event({"endOffset": {"prices": {"0": 5}}, "latestOffset": {"prices": {"0": 6}}})
    assert (told["lag"], told["groups"]) == (1, [])


@pytest.mark.parametrize("offset", [None, 7, "7", {"logOffset": 3}, '{"logOffset": 3}', "text", [], {}])
def test_other_sources_have_neither(offset: object) -> None:
    told = event({"endOffset": offset})
    assert (told["lag"], told["groups"]) == (None, [])
