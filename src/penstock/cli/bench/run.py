"""The run of a scenario: create its topics, start its workers, gather their reports, end them."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from penstock.cli.bench.consume import run_consumers
from penstock.cli.bench.gather import Gathering, GroupTotals
from penstock.cli.bench.produce import run_producers
from penstock.cli.bench.scenario import Consumers, Group, Producers, Scenario
from penstock.cli.bench.workers import DRAIN_TIMEOUT_S, Share, Signals
from penstock.cli.kafka.client import REQUEST_TIMEOUT_S, KafkaClients, translated
from penstock.cli.kafka.topic import offset_ranges
from penstock.cli.terminal.output import note
from penstock.model.counted import counted

if TYPE_CHECKING:
    from multiprocessing.context import SpawnContext

OFFSET_END = -1  # librdkafka's name for the end of a partition
# Workers do not log small events, and their own telemetry is not part of the load.
_QUIET = {"log_level": 4, "enable.metrics.push": False}
READY_TIMEOUT_S = 120.0
# Workers end by themselves; one that takes longer than this is terminated.
END_TIMEOUT_S = DRAIN_TIMEOUT_S + 30.0


@contextlib.contextmanager
def topics(cluster: KafkaClients, scenario: Scenario) -> Iterator[set[str]]:
    """Create missing topics of the scenario, yield their names, and delete them at the end."""
    from confluent_kafka.admin import NewTopic

    admin = cluster.admin()
    wanted = dict.fromkeys(group.topic for group in scenario.groups)
    there = cluster.metadata(admin).topics
    made: set[str] = set()
    try:
        for name in wanted:
            if name not in there:
                topic = scenario.topic(name)
                new = NewTopic(name, topic.partitions, topic.replication_factor, config=topic.config_texts())
                with translated(f"topic {name}"):
                    admin.create_topics([new], request_timeout=REQUEST_TIMEOUT_S)[name].result()
                made.add(name)
        yield made
    finally:
        for name in made:
            with contextlib.suppress(Exception):  # the broker may be what failed
                admin.delete_topics([name], request_timeout=REQUEST_TIMEOUT_S)[name].result()


def run(
    scenario: Scenario, cluster: KafkaClients, made: set[str], *, live: bool
) -> tuple[dict[str, GroupTotals], float]:
    """Run the workers; return the totals of all groups and the time of the start. Ctrl-C ends the workers."""
    import multiprocessing

    os.environ["PYTHONSAFEPATH"] = "1"  # spawned with `python -c`: no modules from the working directory
    context = multiprocessing.get_context("spawn")
    signals = Signals(
        reports=context.Queue(), go=context.Event(), stop=context.Event(), began=context.Value("d", 0.0, lock=False)
    )
    totals_by_group = {group.name: GroupTotals(group.role, group.worker_count) for group in scenario.groups}
    processes = [
        process for group in scenario.groups for process in _workers(group, scenario, cluster, made, signals, context)
    ]
    gathering = Gathering(totals_by_group, processes, signals.reports, live=live)
    for process in processes:
        process.start()
    try:
        with gathering:
            began = _conduct(scenario, totals_by_group, gathering, signals)
    except KeyboardInterrupt:
        note("interrupted")
        raise
    finally:
        for process in processes:
            process.terminate()
            process.join()
    return totals_by_group, began


def _conduct(
    scenario: Scenario, totals_by_group: dict[str, GroupTotals], gathering: Gathering, signals: Signals
) -> float:
    """Start all workers together, and stop consumers when the producers have ended and the time is over."""
    all_totals = list(totals_by_group.values())
    producing = [totals for totals in all_totals if totals.role == "producers"]
    if not gathering.until(lambda: all(totals.ready >= totals.workers for totals in all_totals), READY_TIMEOUT_S):
        _note_missing(totals_by_group, "ready")
    began = signals.began.value = time.monotonic()
    gathering.begin(began)
    signals.go.set()
    gathering.until(lambda: time.monotonic() - began >= scenario.duration, scenario.duration + 1)
    if not gathering.until(lambda: _finished(producing), END_TIMEOUT_S):
        _note_missing(totals_by_group, "finished")
    signals.stop.set()
    if not gathering.until(lambda: _finished(all_totals), END_TIMEOUT_S):
        _note_missing(totals_by_group, "finished")
    return began


def _finished(totals_by_group: Sequence[GroupTotals]) -> bool:
    return all(totals.finished >= totals.workers for totals in totals_by_group)


def _note_missing(totals_by_group: dict[str, GroupTotals], what: str) -> None:
    """Count workers that hang as errors of their group."""
    for totals in totals_by_group.values():
        missing = totals.workers - getattr(totals, what)
        if missing > 0:
            totals.total.errors += missing
            totals.error_text = f"{counted(missing, 'worker process', 'worker processes')} not {what} in time"


def _workers(
    group: Group, scenario: Scenario, cluster: KafkaClients, made: set[str], signals: Signals, context: SpawnContext
) -> Iterator[Any]:
    starts: list[dict[int, int]] = []
    if isinstance(group, Consumers) and group.group is None:
        starts = _starts(group, scenario, cluster, made)
    for worker in range(group.worker_count):
        clients = group.clients_of(worker)
        share = Share(
            client={**_QUIET, **cluster.config()},
            clients=clients,
            part=clients / group.connections,
            seconds=scenario.seconds_of(group),
            seed=worker,
            partitions=tuple(starts[worker :: group.worker_count]),
            from_start=group.topic in made and not group.start,
            drain=bool(scenario.producers) and isinstance(group, Consumers) and not group.rate.limited,
        )
        target = run_producers if isinstance(group, Producers) else run_consumers
        yield context.Process(target=target, args=(group, share, signals), daemon=True)


def _starts(group: Consumers, scenario: Scenario, cluster: KafkaClients, made: set[str]) -> list[dict[int, int]]:
    """Return the partitions and first offsets of each client."""
    if group.topic in made:  # empty; and a broker may not know its leaders yet
        starts = dict.fromkeys(range(scenario.topic(group.topic).partitions), 0)
    else:
        starts = _offsets(group, cluster)
    if group.start and group.position == "latest":
        starts = dict.fromkeys(starts, OFFSET_END)  # the end at the time of their start, which is not known yet
    clients = range(group.connections)
    return [dict(list(starts.items())[client :: group.connections]) for client in clients]


def _offsets(group: Consumers, cluster: KafkaClients) -> dict[int, int]:
    admin = cluster.admin()
    partitions = sorted(cluster.metadata(admin).topics[group.topic].partitions)
    ranges = offset_ranges(admin, [(group.topic, index) for index in partitions])
    side = 1 if group.position == "latest" else 0
    return {index: ranges[group.topic, index][side] for index in partitions}
