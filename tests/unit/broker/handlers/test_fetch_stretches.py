"""Fetch over more segments than an answer goes through."""

import dataclasses
from typing import Any

import pytest

from penstock.model.batch import iter_headers
from penstock.model.limits import FETCH_FURTHER_SEGMENTS_MAX
from penstock.net.reply import Reply
from tests.unit.broker.handlers.test_fetch_committed import READ_COMMITTED, READ_UNCOMMITTED, Node
from tests.unit.storage.log_rig import make_batch, put

pytestmark = pytest.mark.feature("F-01")

SEGMENTS = 2 * FETCH_FURTHER_SEGMENTS_MAX
MINUTE_MS = 60_000


def offsets(answer: Any) -> list[int]:
    return [header.base_offset for _, header in iter_headers(answer.records)]


@pytest.mark.parametrize("isolation", [READ_UNCOMMITTED, READ_COMMITTED])
def test_it_answers_with_what_it_has_when_there_is_more(isolation: int) -> None:
    """A fetch does not wait if there is data; at the end of the log it does."""
    with Node() as node:
        node.log.set_config(dataclasses.replace(node.log.config, segment_bytes=len(make_batch(b"x"))))
        for _ in range(SEGMENTS):
            put(node.log, b"x")
        node.flush()
        assert node.log.segment_count == SEGMENTS

        async def scenario() -> None:
            wanted = {"wait_ms": MINUTE_MS, "min_bytes": 1 << 19}
            first = node.fetch(isolation, 0, **wanted)
            assert offsets(first) == list(range(1 + FETCH_FURTHER_SEGMENTS_MAX))
            rest = node.fetch(isolation, len(offsets(first)), **wanted)
            assert isinstance(rest, Reply)
            rest.abandon()

        node.run(scenario())
