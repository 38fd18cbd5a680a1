"""Does to the broker and to the clients what the plan says, and counts it."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

from penstock.model.topic_name import CONSUMER_OFFSETS, TRANSACTION_STATE
from tests.chaos.brokers import PausingPenstock, continue_process, stop_process
from tests.chaos.crew import Crew
from tests.chaos.failing_flush import fail_flush
from tests.chaos.plan import TOPICS, WINDOWS, Fault, Planned
from tests.support.broker_process import BrokerProcess
from tests.support.strace import CannotAttach
from tests.support.waiting import DeadlinePassed, wait_until

WINDOW_SECONDS = 15.0
FLUSHED_TOPICS = (TRANSACTION_STATE, *TOPICS, CONSUMER_OFFSETS)
"""Whose flushes fail, in turn."""


class Nemesis:
    def __init__(self, broker: BrokerProcess, crew: Crew, directory: Path) -> None:
        self.counts: Counter[Fault] = Counter()
        self.kills = 0
        self.failed_flushes: Counter[str] = Counter()
        self.problem = ""
        self._broker = broker
        self._crew = crew
        self._trace = directory / "strace"

    def strike(self, planned: Planned) -> bool:
        """Whether it hit: a window may not be reached, and a flush may not come."""
        hit = self._strike(planned)
        self.counts[planned.fault] += hit
        return hit

    def _strike(self, planned: Planned) -> bool:
        match planned.fault:
            case Fault.KILL_BROKER:
                self._kill_broker()
                self._broker.start()
            case Fault.STOP_BROKER:
                stop_process(self._broker.pid)
                time.sleep(planned.seconds)
                continue_process(self._broker.pid)
            case Fault.RESTART_BROKER:
                self._broker.restart()
            case Fault.FAIL_FLUSH:
                return self._fail_flush(planned.seconds)
            case Fault.KILL_CLIENT:
                self._crew.kill(planned.client)
            case Fault.STOP_CLIENT:
                self._crew.stop(planned.client, planned.seconds)
            case _:
                return self._kill_in_window(planned.fault)
        return True

    def _kill_broker(self) -> None:
        self._broker.kill9()
        self.kills += 1

    def _fail_flush(self, seconds: float) -> bool:
        """Make a flush fail. Only a restart shows the state of the log; until then it is offline for clients."""
        broker = self._broker
        assert isinstance(broker, PausingPenstock)
        topic = FLUSHED_TOPICS[sum(self.failed_flushes.values()) % len(FLUSHED_TOPICS)]
        try:
            hit = fail_flush(broker, topic, self._trace)
        except CannotAttach as error:
            self.problem = f"strace cannot attach: {str(error).strip()}"
            return False
        if hit:
            self.failed_flushes[topic] += 1
            time.sleep(seconds)
        self._kill_broker()
        broker.start()
        return hit

    def _kill_in_window(self, fault: Fault) -> bool:
        """Start the broker so that it stops itself there, and kill it when it has; False if it never came there."""
        broker = self._broker
        assert isinstance(broker, PausingPenstock)
        broker.kill9()  # not counted: it is only for the restart
        broker.pause = WINDOWS[fault]
        try:
            broker.start()
            wait_until(lambda: broker.has_paused, what=f"the broker comes to {broker.pause}", within_s=WINDOW_SECONDS)
        except DeadlinePassed:
            return False
        finally:
            self._kill_broker()
            broker.pause = None
            broker.start()
        return True
