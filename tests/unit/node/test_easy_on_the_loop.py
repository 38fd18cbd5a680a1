"""What a node does to keep its loop free: garbage is searched for rarely, schemas load beside it."""

import asyncio
import gc
import time

import pytest
import uvloop

from penstock.node import preload
from penstock.node.garbage import THRESHOLDS, GarbageSearch
from penstock.protocol.kafka.apis import APIS
from penstock.protocol.kafka.messages import request_reader
from tests.support.waiting import wait_until


def test_the_collector_is_as_it_was_afterwards() -> None:
    before = gc.get_threshold()

    async def scenario() -> None:
        search = GarbageSearch()
        search.start(asyncio.get_running_loop())
        assert gc.get_threshold() == THRESHOLDS
        assert gc.get_freeze_count() > 0
        search.stop()

    uvloop.run(scenario())
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0


def test_what_is_preloaded_is_what_the_broker_accepts() -> None:
    for api_key, versions in preload.COMMON:
        assert all(APIS[api_key].accepts(version) for version in versions), APIS[api_key].name


def test_common_schemas_are_there_after_a_while() -> None:
    request_reader.cache_clear()
    preloader = preload.Preloader()
    preloader.start()
    wait_until(lambda: request_reader.cache_info().currsize > 3, what="some schemas are loaded")
    preloader.stop()


def test_preloading_waits_while_the_process_is_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work of other threads is not slowed down; after a while it goes on all the same."""
    monkeypatch.setattr(preload, "PATIENCE_SECONDS", 0.6)
    request_reader.cache_clear()
    preloader = preload.Preloader()
    started = time.perf_counter()
    preloader.start()
    while time.perf_counter() < started + 0.4:
        sum(range(1000))
    loaded_meanwhile = request_reader.cache_info().currsize
    wait_until(lambda: request_reader.cache_info().currsize > 3, what="some schemas are loaded")
    preloader.stop()
    assert loaded_meanwhile <= 1
