"""Measures that keep a node's loop free: rare garbage collections, and schemas that load in a thread."""

import asyncio
import gc
import itertools
import threading
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
    """Work of other threads is not slowed down. They are given a processor here that no other process takes away."""
    looks = itertools.count(1)
    others_work = True

    def cpu_of_others() -> float:
        next(looks)
        return time.perf_counter() if others_work else 0.0

    monkeypatch.setattr(preload, "_cpu_of_others", cpu_of_others)
    request_reader.cache_clear()
    preloader = preload.Preloader()
    preloader.start()
    wait_until(lambda: next(looks) > 20, what="it has looked ten times")
    assert request_reader.cache_info().currsize == 0
    others_work = False
    wait_until(lambda: request_reader.cache_info().currsize > 3, what="some schemas are loaded")
    preloader.stop()


def test_preloading_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preload, "PATIENCE_SECONDS", 0.3)
    monkeypatch.setattr(preload, "_cpu_of_others", time.perf_counter)
    request_reader.cache_clear()
    preloader = preload.Preloader()
    preloader.start()
    wait_until(lambda: request_reader.cache_info().currsize > 3, what="some schemas are loaded")
    preloader.stop()


def test_work_of_other_threads_is_seen() -> None:
    """And that of the thread which asks is not."""
    before = preload._cpu_of_others()
    began = time.thread_time()
    while time.thread_time() - began < 0.2:
        sum(range(1000))
    own = preload._cpu_of_others() - before

    def work() -> None:
        began = time.thread_time()
        while time.thread_time() - began < 0.2:
            sum(range(1000))

    other = threading.Thread(target=work)
    other.start()
    other.join()
    seen = preload._cpu_of_others() - before - own
    assert own < 0.1 < seen
