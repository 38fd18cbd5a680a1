"""Running scripts: brokers are started as scripts need them, and each script leaves its transcript.

Scripts with the same settings share a pair of brokers and run several at a time; those that must be alone follow, one
by one; those with a broker of their own come last.
"""

from __future__ import annotations

import itertools
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path

from tests.differential.peer import Peer
from tests.differential.script import Script
from tests.differential.servers import started
from tests.differential.transcript import Transcript
from tests.support.broker_process import BrokerProcess

Brokers = dict[str, BrokerProcess]
Finished = Callable[[Script, dict[str, Transcript]], None]


def run_script(broker: BrokerProcess, script: Script) -> Transcript:
    """The transcript of one script; what went wrong in the script itself is in its `problem`."""
    peer, start = Peer(broker, script.name), time.monotonic()
    try:
        script.body(peer)
    except Exception:
        peer.transcript.problem = traceback.format_exc()
    finally:
        peer.close_all()
    peer.transcript.seconds = time.monotonic() - start
    return peer.transcript


@contextmanager
def brokers(kinds: Sequence[str], script: Script) -> Iterator[Brokers]:
    """Brokers with the settings of this script, in a directory that goes with them."""
    running: Brokers = {}
    with tempfile.TemporaryDirectory(prefix="differential-") as directory:
        try:
            with ThreadPoolExecutor(len(kinds)) as pool:
                tasks = {kind: pool.submit(started, kind, Path(directory) / kind, script.settings) for kind in kinds}
                for kind, task in tasks.items():
                    running[kind] = task.result()
            yield running
        finally:
            for broker in running.values():
                if broker.running:
                    broker.stop()


def run_all(scripts: Iterable[Script], kinds: Sequence[str], *, jobs: int, finished: Finished) -> list[str]:
    """Run every script against every kind of broker; `finished` is called from one thread at a time.

    Returns why some could not be run at all: their brokers did not start, or did not stop as they should.
    """
    problems = []
    for group in _groups(scripts):
        try:
            with brokers(kinds, group[0]) as running:
                _run_group(group, running, jobs, finished)
        except (AssertionError, OSError) as error:
            problems.append(f"{group[0].name} and others with its settings: {error}")
    return problems


def _groups(scripts: Iterable[Script]) -> Iterator[list[Script]]:
    def key(script: Script) -> tuple[bool, list[tuple[str, str]]]:
        return script.own_broker, sorted(script.settings.items())

    for (own, _), members in itertools.groupby(sorted(scripts, key=key), key):
        if own:
            yield from ([script] for script in members)
        else:
            yield list(members)


def _run_group(group: list[Script], running: Brokers, jobs: int, finished: Finished) -> None:
    lock = threading.Lock()
    with ThreadPoolExecutor(len(running)) as sides:

        def both(script: Script) -> None:
            tasks = {kind: sides.submit(run_script, broker, script) for kind, broker in running.items()}
            transcripts = {kind: task.result() for kind, task in tasks.items()}
            with lock:
                finished(script, transcripts)

        for script in (each for each in group if each.alone):
            both(script)

    together = sorted((each for each in group if not each.alone), key=lambda each: -each.seconds)
    with ThreadPoolExecutor(jobs * len(running)) as sides, ThreadPoolExecutor(jobs) as pool:
        for task in as_completed([pool.submit(both, script) for script in together]):
            task.result()
