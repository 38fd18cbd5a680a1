"""Does to the broker and to the clients what the plan says, and counts it."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

from tests.chaos.brokers import PausingPenstock, continue_process, stop_process
from tests.chaos.crew import Crew
from tests.chaos.plan import WINDOWS, Fault, Planned
from tests.support.broker_process import BrokerProcess
from tests.support.strace import CannotAttach, Strace
from tests.support.waiting import DeadlinePassed, wait_until

WINDOW_SECONDS = 15.0
FLUSHES = "fdatasync,syncfs"


class Nemesis:
    def __init__(self, broker: BrokerProcess, crew: Crew, directory: Path) -> None:
        self.counts: Counter[Fault] = Counter()
        self.kills = 0
        self._broker = broker
        self._crew = crew
        self._trace = directory / "strace"

    def strike(self, planned: Planned) -> None:
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
                if not self._fail_flush(planned.seconds):
                    return
            case Fault.KILL_CLIENT:
                self._crew.kill(planned.client)
            case Fault.STOP_CLIENT:
                self._crew.stop(planned.client, planned.seconds)
            case _:
                if not self._kill_in_window(planned.fault):
                    return
        self.counts[planned.fault] += 1

    def _kill_broker(self) -> None:
        self._broker.kill9()
        self.kills += 1

    def _fail_flush(self, seconds: float) -> bool:
        """Each thread's first flush fails; what became of the log, only a restart can tell. False without strace."""
        inject = f"inject={FLUSHES}:error=EIO:when=1"
        try:
            with Strace(self._broker.pid, self._trace, "-e", f"trace={FLUSHES}", "-e", inject):
                time.sleep(seconds)
        except CannotAttach:
            return False
        self._kill_broker()
        self._broker.start()
        return True

    def _kill_in_window(self, fault: Fault) -> bool:
        """Start the broker so that it stops itself there, and kill it when it has; False if it never came there."""
        broker = self._broker
        assert isinstance(broker, PausingPenstock)
        self._kill_broker()
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
