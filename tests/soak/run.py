"""The course of a soak: load, restarts, rests, and the judgement."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.soak.consumers import GroupMember, GroupProgress
from tests.soak.keyed import KeyedState, KeyedWriter
from tests.soak.plan import BROKER_CONFIG, TOPICS, Schedule
from tests.soak.producers import LibrdkafkaProducer, RawProducer
from tests.soak.readers import FollowingReader, read_again
from tests.soak.verdict import Trend, leaks, not_judged, trends
from tests.soak.visitors import Administrator, HostileVisitor, ShortVisitor
from tests.soak.watch import OpenThings, Watcher, get, metrics_of, open_things
from tests.soak.world import PATIENCE_SECONDS, Client, Heart, World
from tests.support.group_client import wait_for_coordinator
from tests.support.penstock_process import PenstockProcess
from tests.support.waiting import DeadlinePassed, wait_until
from tests.support.wire import ConnectionClosed

RESULTS = Path(__file__).parent / "results"
LINE_SECONDS = 10.0
RETENTION_SECONDS = 200.0  # in a shorter run there may be too little to remove
REST_SECONDS = 8.0  # upkeep comes round every two


class Soak:
    """One run in a directory of its own. A smoke run may be too short to show whether anything grows."""

    def __init__(self, directory: Path, schedule: Schedule, *, smoke: bool = False) -> None:
        self.schedule = schedule
        self._smoke = smoke
        self.broker = PenstockProcess(directory, BROKER_CONFIG)
        self.world = World(self.broker)
        self.watcher = Watcher(self.world)
        self.progress = GroupProgress(self.world)
        self.keyed = KeyedState(self.world)
        self._clients: list[Client] = []
        self._producer_number = 0
        self._next_line = LINE_SECONDS
        self._next_reread = self.schedule.reread_every

    @property
    def _elapsed(self) -> float:
        return time.monotonic() - self.world.started

    def run(self) -> bool:
        self.broker.prepare()
        self.broker.start()
        try:
            return self._course()
        finally:
            if self.broker.running:
                self.broker.kill9()

    def _course(self) -> bool:
        with self.world.connect() as client:
            for topic in TOPICS:
                client.create_topic(topic.name, partitions=topic.partitions, configs=topic.configs)
        Heart(self.world, "heart").start()
        self.watcher.start()
        self._admit()
        self._go_on_until(self.schedule.kill_at)
        self._restart(cleanly=False)
        self._go_on_until(self.schedule.stop_at)
        self._restart(cleanly=True)
        self._go_on_until(self.schedule.first_rest_at)
        before = self._rest()
        self._admit()
        self._go_on_until(self.schedule.total)
        after = self._rest()
        self.watcher.leaving.set()
        self.watcher.join()
        self._check_at_the_end(before, after)
        return self._judge(before, after)

    # --- clients ---------------------------------------------------------------------------------------------------

    def _admit(self) -> None:
        """All clients come in. Producers get numbers that no producer had before."""
        first = self._producer_number
        self._producer_number += 5
        world = self.world
        self._clients = [
            RawProducer(world, first),
            RawProducer(world, first + 1),
            LibrdkafkaProducer(world, first + 2, idempotent=True, codec="zstd"),
            LibrdkafkaProducer(world, first + 3, idempotent=True, codec="none"),
            LibrdkafkaProducer(world, first + 4, idempotent=False, codec="lz4"),
            KeyedWriter(world, self.keyed),
            FollowingReader(world),
            GroupMember(world, self.progress, 1),
            GroupMember(world, self.progress, 2, stay=33.0),
            GroupMember(world, self.progress, 3, stay=20.0),
            ShortVisitor(world, "short visitor"),
            HostileVisitor(world, "hostile visitor"),
            Administrator(world),
        ]
        for client in self._clients:
            client.start()

    def _dismiss(self) -> None:
        """Writers leave first, readers when they have read everything."""
        writers = [client for client in self._clients if not isinstance(client, GroupMember | FollowingReader)]
        for leaving in (writers, [client for client in self._clients if client not in writers]):
            for client in leaving:
                client.leaving.set()
            for client in leaving:
                client.join(2 * PATIENCE_SECONDS)
                if client.is_alive():
                    self.world.problem(f"{client.name} did not leave")
            if leaving is writers:
                self._wait_for_readers()
        self._clients = []

    def _wait_for_readers(self) -> None:
        with self.world.connect() as client:
            ledgers = self.world.ledger.partitions
            try:
                wait_until(
                    lambda: all(each.read_to >= client.log_end(*partition) for partition, each in ledgers.items()),
                    what="the reader is at the end of every log",
                    within_s=PATIENCE_SECONDS,
                )
                wait_until(
                    lambda: self.progress.lag(client) == 0, what="the group has read all", within_s=PATIENCE_SECONDS
                )
            except DeadlinePassed as error:
                self.world.problem(str(error))
            self.progress.check(client)

    def _rest(self) -> OpenThings:
        """The broker's open resources, after all clients have left."""
        self._dismiss()
        wait_until(
            lambda: metrics_of(get(self.broker, "/metrics")[1])["penstock_connections"] == 0,
            what="no connection is open",
            within_s=PATIENCE_SECONDS,
        )
        end = time.monotonic() + REST_SECONDS
        wait_until(
            lambda: time.monotonic() > end and not open_things(self.broker).trash,
            what="upkeep has come round",
            within_s=PATIENCE_SECONDS,
        )
        things = open_things(self.broker)
        print(f"at rest: {things}", flush=True)
        return things

    # --- time ------------------------------------------------------------------------------------------------------

    def _go_on_until(self, moment: float) -> None:
        while self._elapsed < moment:
            time.sleep(1.0)
            if self._elapsed >= self._next_line:
                self._next_line = self._elapsed + LINE_SECONDS
                self._show_line()
                self._check_group()
            if self._elapsed >= self._next_reread:
                self._next_reread = self._elapsed + self.schedule.reread_every
                self._check_contents()

    def _show_line(self) -> None:
        if not self.watcher.samples:
            return
        now = self.watcher.samples[-1]
        latency = "–" if now.p99_ms is None else f"{now.p50_ms:.1f}/{now.p99_ms:.1f} ms"
        print(
            f"{self._elapsed:6.0f} s  life {self.world.life // 2 + 1}  acknowledged {now.acknowledged:8}"
            f"  read {now.read:8}  ack p50/p99 {latency:>14}  memory {now.anonymous_mb:5.1f}+{now.workers_mb:.1f} MB"
            f"  files {now.files:3}  threads {now.threads:2}  disk {now.disk_mb:5.0f} MB"
            f"  problems {self.world.counts['problems']}",
            flush=True,
        )

    def _check_group(self) -> None:
        try:
            with self.world.connect() as client:
                self.progress.check(client)
        except (OSError, ConnectionClosed, AssertionError) as error:
            self.world.problem(f"the group cannot be checked: {error!r}")

    def _check_contents(self) -> None:
        try:
            with self.world.connect() as client:
                read_again(self.world, client)
                self.keyed.check(client)
        except (OSError, ConnectionClosed, AssertionError) as error:
            self.world.problem(f"the contents cannot be checked: {error!r}")

    def _restart(self, *, cleanly: bool) -> None:
        print(f"{self._elapsed:6.0f} s  {'SIGTERM' if cleanly else 'kill -9'} under load", flush=True)
        self.world.life += 1
        started = time.monotonic()
        if cleanly:
            self.broker.stop()
        else:
            self.broker.kill9()
        self.broker.start()
        self.world.life += 1
        self.world.count("restarts")
        print(f"{self._elapsed:6.0f} s  up again after {time.monotonic() - started:.1f} s", flush=True)
        self._wait_for_groups()
        self._check_contents()

    def _wait_for_groups(self) -> None:
        """Offsets are loaded after a start before they can be asked for."""
        with self.world.connect() as client:
            wait_for_coordinator(client)

    # --- the end ---------------------------------------------------------------------------------------------------

    def _check_at_the_end(self, before: OpenThings, after: OpenThings) -> None:
        for problem in leaks(before, after):
            self.world.problem(problem)
        if self.watcher.metrics.get("penstock_compaction_seconds_count", 0) < 1:
            self.world.problem("nothing was compacted")
        for name, start in self.watcher.starts().items():
            if start == 0 and self.schedule.total >= RETENTION_SECONDS:
                self.world.problem(f"{name}: retention took nothing")
        self._check_contents()
        if not self.keyed.tombstones_gone and self.schedule.total >= RETENTION_SECONDS:
            self.world.problem("no tombstone was removed")
        self._restart(cleanly=False)
        self.broker.stop()
        verified = subprocess.run(
            [sys.executable, "-m", "penstock", "log", "verify", str(self.broker.data_directory)],
            capture_output=True,
            text=True,
            check=False,
        )
        if verified.returncode:
            self.world.problem(f"penstock log verify: {verified.stdout}{verified.stderr}")
        self._check_order()
        for line in self.broker.log_file.read_text(errors="replace").splitlines():
            if " ERROR " in line or " CRITICAL " in line or line.startswith("Traceback"):
                self.world.problem(f"in the broker's log: {line}")

    def _check_order(self) -> None:
        for partition, ledger in self.world.ledger.partitions.items():
            known = ledger.check_order()
            if known < ledger.acknowledged:
                self.world.problem(f"{partition}: {ledger.acknowledged} acknowledged, {known} known")
            if ledger.read_to < ledger.acknowledged_end:
                self.world.problem(f"{partition}: read to {ledger.read_to}, acknowledged to {ledger.acknowledged_end}")

    def _judge(self, before: OpenThings, after: OpenThings) -> bool:
        found = trends(self.watcher.samples, self.schedule)
        for each in found:
            print(each)
            if not each.flat:
                self.world.problem(f"grows: {each}")
        missing = not_judged(found)
        for each_missing in missing if not self._smoke else ():
            self.world.problem(each_missing)
        self.world.count("messages acknowledged", self.world.ledger.acknowledged)
        self.world.count("messages followed", self.world.ledger.read)
        for name, number in sorted(self.world.counts.items()):
            print(f"{name:42} {number}")
        for problem in self.world.problems:
            print(f"PROBLEM {problem}")
        passed = not self.world.problems
        self._write(found, before, after, passed)
        if self._smoke and missing:
            print("a smoke run: too short to show whether memory, files or latency grow")
        print("passed" if passed else "FAILED")
        return passed

    def _write(self, found: list[Trend], before: OpenThings, after: OpenThings, passed: bool) -> None:
        RESULTS.mkdir(exist_ok=True)
        now = datetime.now(UTC)
        result: dict[str, Any] = {
            "at": now.isoformat(timespec="seconds"),
            "seconds": self.schedule.total,
            "smoke": self._smoke,
            "passed": passed,
            "problems": self.world.problems,
            "counts": dict(sorted(self.world.counts.items())),
            "trends": [asdict(each) for each in found],
            "at_rest": {"first": asdict(before), "last": asdict(after)},
            "samples": [sample.as_dict() for sample in self.watcher.samples],
        }
        path = RESULTS / f"{now:%Y%m%d-%H%M%S}.json"
        path.write_text(json.dumps(result, indent=1) + "\n")
        print(f"written to {path}")
