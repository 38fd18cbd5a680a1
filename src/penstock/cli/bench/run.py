"""The run of a scenario: create its topics, start its workers, gather their reports, end them."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from penstock.cli.bench.consume import run_consumers
from penstock.cli.bench.gather import Gathering, Tally
from penstock.cli.bench.produce import run_producers
from penstock.cli.bench.scenario import Consumers, Group, Producers, Scenario
from penstock.cli.bench.workers import DRAIN_TIMEOUT_S, Share, Signals
from penstock.cli.kafka.client import REQUEST_TIMEOUT_S, Cluster, translated
from penstock.cli.kafka.topic import offset_ranges
from penstock.cli.terminal.output import note
from penstock.model.counted import counted

if TYPE_CHECKING:
    from multiprocessing.context import SpawnContext

OFFSET_END = -1  # librdkafka's name for the end of a partition
# Workers do not log small events, and their own telemetry is not part of the load.
_QUIET = {"log_level": 4, "enable.metrics.push": False}
READY_TIMEOUT_S = 120.0
# Workers end by themselves; one that does not within this is ended.
END_TIMEOUT_S = DRAIN_TIMEOUT_S + 30.0


@contextlib.contextmanager
def topics(cluster: Cluster, scenario: Scenario) -> Iterator[set[str]]:
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


def run(scenario: Scenario, cluster: Cluster, made: set[str], *, live: bool) -> tuple[dict[str, Tally], float]:
    """Run the workers; return the tallies of all groups and the time of the start. Ctrl-C ends the workers."""
    import multiprocessing

    context = multiprocessing.get_context("spawn")
    signals = Signals(
        reports=context.Queue(), go=context.Event(), stop=context.Event(), began=context.Value("d", 0.0, lock=False)
    )
    tallies = {group.name: Tally(group.role, group.worker_count) for group in scenario.groups}
    processes = [
        process for group in scenario.groups for process in _workers(group, scenario, cluster, made, signals, context)
    ]
    gathering = Gathering(tallies, processes, signals.reports, live=live)
    for process in processes:
        process.start()
    try:
        with gathering:
            began = _conduct(scenario, tallies, gathering, signals)
    except KeyboardInterrupt:
        note("interrupted")
        raise
    finally:
        for process in processes:
            process.terminate()
            process.join()
    return tallies, began


def _conduct(scenario: Scenario, tallies: dict[str, Tally], gathering: Gathering, signals: Signals) -> float:
    """Start all workers together, and stop consumers when the producers have ended and the time is over."""
    everybody = list(tallies.values())
    producing = [tally for tally in everybody if tally.role == "producers"]
    if not gathering.until(lambda: all(tally.ready >= tally.workers for tally in everybody), READY_TIMEOUT_S):
        _note_missing(tallies, "ready")
    began = signals.began.value = time.monotonic()
    gathering.begin(began)
    signals.go.set()
    gathering.until(lambda: time.monotonic() - began >= scenario.duration, scenario.duration + 1)
    if not gathering.until(lambda: _finished(producing), END_TIMEOUT_S):
        _note_missing(tallies, "finished")
    signals.stop.set()
    if not gathering.until(lambda: _finished(everybody), END_TIMEOUT_S):
        _note_missing(tallies, "finished")
    return began


def _finished(tallies: Sequence[Tally]) -> bool:
    return all(tally.finished >= tally.workers for tally in tallies)


def _note_missing(tallies: dict[str, Tally], what: str) -> None:
    """Count workers that hang as errors of their group."""
    for tally in tallies.values():
        missing = tally.workers - getattr(tally, what)
        if missing > 0:
            tally.total.errors += missing
            tally.error_text = f"{counted(missing, 'worker process', 'worker processes')} not {what} in time"


def _workers(
    group: Group, scenario: Scenario, cluster: Cluster, made: set[str], signals: Signals, context: SpawnContext
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


def _starts(group: Consumers, scenario: Scenario, cluster: Cluster, made: set[str]) -> list[dict[int, int]]:
    """Return the partitions and first offsets of each client."""
    if group.topic in made:  # empty; and a broker may not know its leaders yet
        starts = dict.fromkeys(range(scenario.topic(group.topic).partitions), 0)
    else:
        starts = _offsets(group, cluster)
    if group.start and group.position == "latest":
        starts = dict.fromkeys(starts, OFFSET_END)  # of the moment when they start, which nobody knows yet
    clients = range(group.connections)
    return [dict(list(starts.items())[client :: group.connections]) for client in clients]


def _offsets(group: Consumers, cluster: Cluster) -> dict[int, int]:
    admin = cluster.admin()
    partitions = sorted(cluster.metadata(admin).topics[group.topic].partitions)
    ranges = offset_ranges(admin, [(group.topic, index) for index in partitions])
    side = 1 if group.position == "latest" else 0
    return {index: ranges[group.topic, index][side] for index in partitions}
